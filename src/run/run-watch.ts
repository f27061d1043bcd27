import { basename } from 'node:path';

import { writeAtomically } from '../files/files.ts';
import type { RunManifest } from '../artefacts/run-manifest.ts';
import type { OtherProcess } from '../records/telemetry.ts';
import { askForProcesses, parseComputeApps, peakProcessMib } from '../tools/nvidia-smi/nvidia-smi.ts';
import { instantOrNull } from '../tools/nvidia-smi/values.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { type ProcessFacts, hostLoad, ownProcesses } from '../machine/host-facts.ts';
import { PrintedLines } from '../process/printed-lines.ts';

export interface WatchedMachine {
  readonly env: EnvironmentVariables;
  /** Null if the GPU is unknown; all are sampled then. */
  readonly gpuUuid: string | null;
  readonly asksForProcesses: boolean;
  readonly hasSmi: boolean;
  readonly processFacts: ProcessFacts;
  /** File name of the program. */
  readonly program: string;
  readonly signal: AbortSignal;
  readonly onNote: (note: string) => void;
  readonly now: () => Date;
}

/** trtexec takes longer than this from its start to its first use of the GPU. */
const SOON_MS = 100;

/**
 * Watches the machine during the runs of one sweep with a single nvidia-smi, whose lines are assigned to runs by time.
 * It starts before the first run. All other queries happen while the next run starts.
 */
export class RunWatch {
  private readonly machine: WatchedMachine;
  private sampler: PrintedLines | null = null;
  private processes: PrintedLines | null = null;
  private starting: Promise<void> | null = null;
  /** The query for other processes, made after a run while the next one starts. */
  private asking: Promise<unknown> = Promise.resolve();
  private isSlow = false;
  private header = '';
  /** Lines already read but later than the end of the last run. */
  private later: string[] = [];
  private asksForProcesses: boolean;

  constructor(machine: WatchedMachine) {
    this.machine = machine;
    this.asksForProcesses = machine.asksForProcesses && machine.hasSmi && machine.gpuUuid !== null;
  }

  /**
   * Call this before each run, or earlier if there is time.
   * @param samples false for a run without nvidia-smi among others that use it
   */
  async begin(samples = true): Promise<void> {
    if (this.isSlow) await this.asking;
    if (!samples) {
      await this.starting;
      this.stop();
      this.sampler = null;
      this.starting = null;
      this.later = [];
      return;
    }
    if (this.machine.hasSmi) await (this.starting ??= this.startSampling());
  }

  private async startSampling(): Promise<void> {
    const { env, gpuUuid, signal } = this.machine;
    // Prints the memory of each process on the GPU. A loop of `--query-compute-apps` prints nothing while there is no
    // process, so that it would not end after bench is killed. Times are UTC.
    const args = ['pmon', '-s', 'm', '-o', 'DT', '-d', String(INTERVAL_S)];
    const ofGpu = gpuUuid === null ? [] : ['-i', gpuUuid];
    this.processes = new PrintedLines('nvidia-smi', [...args, ...ofGpu], { ...env, TZ: 'UTC0' });
    const start = await startSampler(gpuUuid, env, signal);
    if (start.kind === 'sampling') {
      this.sampler = start.lines;
      this.header = start.header;
    } else if (!signal.aborted) this.machine.onNote(`nvidia-smi gives no samples (${start.reason})`);
  }

  /** Call when the run has ended. @param csvPath file for its samples */
  async end(from: Date, to: Date, csvPath: string): Promise<RunManifest['watched']> {
    const load = hostLoad();
    const { peakMib, pids } = this.machine.processFacts;
    // The first second is left out, because the engine loads: an H200 then showed 14 of 600 MiB.
    const loaded = new Date(from.getTime() + SAMPLE_S * 1000);
    const samples = this.cut(loaded, to);
    if (samples.length > 0) {
      await writeAtomically(csvPath, `${[this.header, ...samples].join('\n')}\n`);
    }
    return {
      hostLoad: load,
      hostMemoryMaxMib: peakMib,
      processMemoryMaxMib: peakProcessMib(this.processes?.take() ?? [], pids, loaded, to),
      otherProcesses: [],
    };
  }

  stop(): void {
    this.sampler?.stop();
    this.processes?.stop();
  }

  private cut(from: Date, to: Date): string[] {
    const lines = [...this.later, ...(this.sampler?.take() ?? [])];
    const samples = linesBetween(lines, from.getTime(), to.getTime());
    this.later = linesBetween(lines, to.getTime() + 1, Number.POSITIVE_INFINITY);
    if (this.sampler?.hasEnded() === true) {
      this.sampler.stop();
      this.sampler = null;
      this.machine.onNote('nvidia-smi ended: there are no more samples');
    }
    return samples;
  }

  /** Call when the run has ended, so that remaining processes on the GPU are others. */
  async otherProcesses(): Promise<OtherProcess[]> {
    const { env, gpuUuid, now } = this.machine;
    if (!this.asksForProcesses || gpuUuid === null) return [];
    const askedAt = now().getTime();
    const asking = askForProcesses(gpuUuid, env);
    this.asking = asking;
    const answer = await asking;
    // A query that hangs or fails would do so after every run.
    if (answer.kind !== 'answered') this.asksForProcesses = false;
    if (answer.kind !== 'answered') return [];
    const [own, { pids }] = [ownProcesses(), this.machine.processFacts];
    // A short next run is already on the GPU, or has left it.
    const others = parseComputeApps(answer.text).filter(({ pid }) => !own.has(pid) && !pids.has(pid));
    if (this.isSlow || now().getTime() - askedAt <= SOON_MS) return others;
    // A late answer may belong to the next run; from now on, the next run waits for it.
    this.isSlow = true;
    return others.filter(({ name }) => basename(name) !== this.machine.program);
  }
}

/** A sample describes the second before it: the power is a mean, and on some GPUs the utilization is one, too. */
const SAMPLE_S = 1;

function linesBetween(lines: readonly string[], fromMs: number, toMs: number): string[] {
  return lines.filter((line) => {
    const at = instantOrNull(line.split(',', 1)[0]);
    return at !== null && Date.parse(at) >= fromMs && Date.parse(at) <= toMs;
  });
}

const REASONS = 'clocks_event_reasons.active';

/** Fields of `nvidia-smi --help-query-gpu` in driver 580. Before driver 535, the reasons have an older name. */
const FIELDS = `timestamp index uuid clocks.sm clocks.mem power.draw power.limit temperature.gpu utilization.gpu
  memory.used ${REASONS} pcie.link.gen.current pcie.link.width.current`.split(/\s+/);

const NOT_A_FIELD = /Field "([^"]+)" is not a valid field/;

/** Not shorter, because each sample causes work on the GPU during timing. */
const INTERVAL_S = 1;
const FIRST_LINE_MS = 10_000;

/**
 * Starts nvidia-smi and waits for its first line, so that its start disturbs no run. Times are UTC. A field unknown to
 * this driver is queried under its older name, or omitted.
 * @param gpuUuid null for all GPUs of the machine
 */
export async function startSampler(
  gpuUuid: string | null,
  env: EnvironmentVariables,
  signal: AbortSignal,
  firstLineMs = FIRST_LINE_MS,
) {
  // A timeout is handled like Ctrl-C.
  const waiting = AbortSignal.any([signal, AbortSignal.timeout(firstLineMs)]);
  let fields = FIELDS;
  for (;;) {
    const args = [`--query-gpu=${fields.join(',')}`, '--format=csv', `--loop=${INTERVAL_S}`];
    const queried = gpuUuid === null ? args : [...args, `--id=${gpuUuid}`];
    const lines = new PrintedLines('nvidia-smi', queried, { ...env, TZ: 'UTC0' });
    const header = await lines.first(waiting);
    if (header?.includes('timestamp') === true) return { kind: 'sampling' as const, header, lines };
    lines.stop();
    const unknown = NOT_A_FIELD.exec(header ?? '')?.[1];
    if (unknown === undefined || !fields.includes(unknown)) {
      return { kind: 'none' as const, reason: header === null ? 'it printed nothing' : `"${header}"` };
    }
    fields = fields.flatMap((field) => {
      if (field !== unknown) return field;
      return field === REASONS ? 'clocks_throttle_reasons.active' : [];
    });
  }
}
