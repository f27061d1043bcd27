import { type ChildProcess, spawn } from 'node:child_process';

import { definedVariables, type EnvironmentVariables } from '../process/environment-variables.ts';

/**
 * What is asked once a second. `nvidia-smi --help-query-gpu` of driver 580 knows all of them; before 535 the reasons
 * have their older name.
 */
const FIELDS = [
  'timestamp',
  'index',
  'uuid',
  'clocks.sm',
  'clocks.mem',
  'power.draw',
  'power.limit',
  'temperature.gpu',
  'utilization.gpu',
  'memory.used',
  'clocks_event_reasons.active',
  'pcie.link.gen.current',
  'pcie.link.width.current',
] as const;

const OLDER_NAMES: Readonly<Record<string, string>> = {
  'clocks_event_reasons.active': 'clocks_throttle_reasons.active',
};

const NOT_A_FIELD = /Field "([^"]+)" is not a valid field/;

/** Never faster: each sample makes the driver do work on the GPU that is being timed. */
const INTERVAL_S = 1;
const FIRST_LINE_MS = 10_000;

/** One nvidia-smi that prints a line a second, for as long as it is wanted. */
export interface GpuSampler {
  /** The names of the columns, as it printed them. */
  readonly header: string;
  /** Complete lines that came since the last time. */
  readonly take: () => readonly string[];
  readonly hasEnded: () => boolean;
  /** Ends it with all that it started. Can be done twice. */
  readonly stop: () => void;
}

export type SamplerStart =
  | { readonly kind: 'sampling'; readonly sampler: GpuSampler }
  /** `reason` is what nvidia-smi said, or a few words of this program. */
  | { readonly kind: 'none'; readonly reason: string };

/**
 * Starts it and waits for its first line, so that starting it disturbs no run. Its timestamps are in UTC. A field that
 * this driver does not know is asked for by its older name, or left out.
 * @param gpuUuid null for all GPUs of the machine
 */
export async function startSampler(
  gpuUuid: string | null,
  env: EnvironmentVariables,
  signal: AbortSignal,
  firstLineMs = FIRST_LINE_MS,
): Promise<SamplerStart> {
  // What comes too late to wait for is the same as Ctrl-C: nobody waits any longer.
  const waiting = AbortSignal.any([signal, AbortSignal.timeout(firstLineMs)]);
  let fields: readonly string[] = FIELDS;
  for (;;) {
    const start = await startWith(fields, gpuUuid, env, waiting);
    const unknown = start.kind === 'none' ? NOT_A_FIELD.exec(start.reason)?.[1] : undefined;
    if (unknown === undefined || !fields.includes(unknown)) return start;
    fields = fields.flatMap((field) => (field === unknown ? (OLDER_NAMES[field] ?? []) : field));
  }
}

async function startWith(
  fields: readonly string[],
  gpuUuid: string | null,
  env: EnvironmentVariables,
  waiting: AbortSignal,
): Promise<SamplerStart> {
  const args = [`--query-gpu=${fields.join(',')}`, '--format=csv', `--loop=${INTERVAL_S}`];
  const child = spawn('nvidia-smi', gpuUuid === null ? args : [...args, `--id=${gpuUuid}`], {
    env: { ...definedVariables(env), TZ: 'UTC0' },
    // A group of its own: Ctrl-C in a terminal is for this program to hand on. Its output is a pipe, so that it ends
    // by itself at its next line when this program was killed.
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let hasEnded = false;
  child.on('exit', () => (hasEnded = true));
  // A watcher that cannot be ended must not keep this program from ending.
  child.unref();
  const lines = new LineBuffer();
  await firstLine(child, lines, waiting);
  const first = lines.shift();
  const stop = (): void => endGroup(child);
  if (first?.includes('timestamp') === true) {
    const take = (): readonly string[] => lines.take();
    return { kind: 'sampling', sampler: { header: first, take, hasEnded: () => hasEnded, stop } };
  }
  stop();
  return { kind: 'none', reason: first === null ? 'it printed nothing' : `"${first}"` };
}

/** Until there is a line, or none will come any more, or nobody waits any longer. */
function firstLine(child: ChildProcess, lines: LineBuffer, waiting: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => resolve();
    waiting.addEventListener('abort', settle, { once: true });
    if (waiting.aborted) settle();
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      lines.push(text);
      if (lines.hasLine) settle();
    });
    child.on('error', settle);
    child.on('close', settle);
  });
}

/** Text that comes in pieces, by lines; empty ones are passed over. */
class LineBuffer {
  private lines: string[] = [];
  private rest = '';

  push(text: string): void {
    const parts = (this.rest + text).split('\n');
    this.rest = parts.pop() ?? '';
    this.lines.push(...parts.map((line) => line.trim()).filter((line) => line !== ''));
  }

  get hasLine(): boolean {
    return this.lines.length > 0;
  }

  shift(): string | null {
    return this.lines.shift() ?? null;
  }

  take(): string[] {
    const taken = this.lines;
    this.lines = [];
    return taken;
  }
}

/** At once and for good: nvidia-smi has nothing to put in order. */
function endGroup(child: ChildProcess): void {
  child.stdout?.destroy();
  try {
    if (child.pid === undefined || process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group is gone, as it should be.
  }
}
