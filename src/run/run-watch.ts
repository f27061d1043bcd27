import { writeAtomically } from '../artefacts/files.ts';
import type { RunManifest } from '../artefacts/run-manifest.ts';
import type { OtherProcess } from '../records/telemetry.ts';
import { askForProcesses, parseComputeApps } from '../tools/nvidia-smi/nvidia-smi.ts';
import { instantOrNull } from '../tools/nvidia-smi/values.ts';
import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { type GpuSampler, startSampler } from '../machine/gpu-sampler.ts';
import { hostLoad } from '../machine/host-facts.ts';

export interface WatchedMachine {
  readonly env: EnvironmentVariables;
  /** Null when it is not known which GPU will be used: then all are sampled. */
  readonly gpuUuid: string | null;
  /** Whether what runs on that GPU besides is to be asked for. */
  readonly asksForProcesses: boolean;
  readonly hasSmi: boolean;
  readonly signal: AbortSignal;
  /** What a person should know: that and why there are no samples. */
  readonly onNote: (note: string) => void;
}

/**
 * Watches the machine during the runs of one sweep: one nvidia-smi for all of them, whose lines are cut into the runs
 * by their time. It starts before the first run, and everything else is asked between runs.
 */
export class RunWatch {
  private readonly machine: WatchedMachine;
  private sampler: GpuSampler | null = null;
  private isStarted = false;
  private header = '';
  /** Read already, but after the end of the last run. */
  private later: string[] = [];
  private asksForProcesses: boolean;

  constructor(machine: WatchedMachine) {
    this.machine = machine;
    this.asksForProcesses = machine.asksForProcesses && machine.hasSmi && machine.gpuUuid !== null;
  }

  /** To be called before each run. */
  async begin(): Promise<void> {
    if (this.isStarted || !this.machine.hasSmi) return;
    this.isStarted = true;
    const { env, gpuUuid, signal } = this.machine;
    const start = await startSampler(gpuUuid, env, signal);
    if (start.kind === 'sampling') {
      this.sampler = start.sampler;
      this.header = start.sampler.header;
    } else if (!signal.aborted) this.machine.onNote(`nvidia-smi gives no samples (${start.reason})`);
  }

  /**
   * To be called when the run has ended: what is left on the GPU then is not its own, whatever its number.
   * @param csvPath where the samples of the run are written, if there are any
   */
  async end(from: Date, to: Date, csvPath: string): Promise<RunManifest['watched']> {
    const load = hostLoad();
    const samples = this.cut(from, to);
    if (samples.length > 0) {
      await writeAtomically(csvPath, `${[this.header, ...samples].join('\n')}\n`);
    }
    return { hostLoad: load, otherProcesses: [...(await this.otherProcesses())] };
  }

  stop(): void {
    this.sampler?.stop();
  }

  private cut(from: Date, to: Date): string[] {
    const lines = [...this.later, ...(this.sampler?.take() ?? [])];
    const samples = linesBetween(lines, from.getTime() + SAMPLE_S * 1000, to.getTime());
    this.later = linesBetween(lines, to.getTime() + 1, Number.POSITIVE_INFINITY);
    if (this.sampler?.hasEnded() === true) {
      this.sampler.stop();
      this.sampler = null;
      this.machine.onNote('nvidia-smi has ended: no samples from here on');
    }
    return samples;
  }

  private async otherProcesses(): Promise<OtherProcess[]> {
    const { env, gpuUuid } = this.machine;
    if (!this.asksForProcesses || gpuUuid === null) return [];
    const answer = await askForProcesses(gpuUuid, env);
    // One that hangs or fails would do so after each run.
    if (answer.kind !== 'answered') this.asksForProcesses = false;
    return answer.kind === 'answered' ? parseComputeApps(answer.text) : [];
  }
}

/** A sample tells of the second before it: power is its mean, and so is utilisation on some GPUs. */
const SAMPLE_S = 1;

function linesBetween(lines: readonly string[], fromMs: number, toMs: number): string[] {
  return lines.filter((line) => {
    const at = instantOrNull(line.split(',', 1)[0]);
    return at !== null && Date.parse(at) >= fromMs && Date.parse(at) <= toMs;
  });
}
