import type { EnvironmentVariables } from '../process/environment-variables.ts';
import { PrintedLines } from '../process/printed-lines.ts';

/** Fields of `nvidia-smi --help-query-gpu` in driver 580. Before driver 535, the reasons have an older name. */
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

/** Not shorter, because each sample causes work on the GPU during timing. */
const INTERVAL_S = 1;
const FIRST_LINE_MS = 10_000;

export type SamplerStart =
  | { readonly kind: 'sampling'; readonly header: string; readonly lines: PrintedLines }
  /** `reason` is the message of nvidia-smi or of bench. */
  | { readonly kind: 'none'; readonly reason: string };

/**
 * Starts nvidia-smi to print the memory of each process on the GPU. Times are UTC. A loop of `--query-compute-apps`
 * prints nothing while there is no process, so that it would not end after bench is killed.
 */
export function sampleProcesses(gpuUuid: string | null, env: EnvironmentVariables): PrintedLines {
  const args = ['pmon', '-s', 'm', '-o', 'DT', '-d', String(INTERVAL_S)];
  return new PrintedLines('nvidia-smi', gpuUuid === null ? args : [...args, '-i', gpuUuid], { ...env, TZ: 'UTC0' });
}

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
): Promise<SamplerStart> {
  // A timeout is handled like Ctrl-C.
  const waiting = AbortSignal.any([signal, AbortSignal.timeout(firstLineMs)]);
  let fields: readonly string[] = FIELDS;
  for (;;) {
    const args = [`--query-gpu=${fields.join(',')}`, '--format=csv', `--loop=${INTERVAL_S}`];
    const queried = gpuUuid === null ? args : [...args, `--id=${gpuUuid}`];
    const lines = new PrintedLines('nvidia-smi', queried, { ...env, TZ: 'UTC0' });
    const header = await lines.first(waiting);
    if (header?.includes('timestamp') === true) return { kind: 'sampling', header, lines };
    lines.stop();
    const unknown = NOT_A_FIELD.exec(header ?? '')?.[1];
    if (unknown === undefined || !fields.includes(unknown)) {
      return { kind: 'none', reason: header === null ? 'it printed nothing' : `"${header}"` };
    }
    fields = fields.flatMap((field) => (field === unknown ? (OLDER_NAMES[field] ?? []) : field));
  }
}
