import { execFile } from 'node:child_process';

import { definedVariables, type EnvironmentVariables } from '../../process/environment-variables.ts';

export type SmiAnswer =
  | { readonly kind: 'said'; readonly text: string }
  /** `reason` in a few words of this program. */
  | { readonly kind: 'none'; readonly reason: string };

/** A machine of many GPUs whose driver has to wake up first takes seconds. */
const REPORT_TIMEOUT_MS = 20_000;
const PROCESSES_TIMEOUT_MS = 5_000;
const MAX_BYTES = 16 << 20;

/** The whole report of every GPU, in XML: once, before anything is timed. */
export function askForReport(env: EnvironmentVariables): Promise<SmiAnswer> {
  return ask(['-q', '-x'], env, REPORT_TIMEOUT_MS);
}

/** GPUs and their MIG devices with their UUIDs, a line each. */
export function askForDevices(env: EnvironmentVariables): Promise<SmiAnswer> {
  return ask(['-L'], env, REPORT_TIMEOUT_MS);
}

/** Temperature of one GPU in degrees Celsius; null when it does not tell. */
export async function askForTemperature(gpuUuid: string, env: EnvironmentVariables): Promise<number | null> {
  const query = ['--query-gpu=temperature.gpu', `--id=${gpuUuid}`, '--format=csv,noheader,nounits'];
  const answer = await ask(query, env, PROCESSES_TIMEOUT_MS);
  const celsius = answer.kind === 'said' ? Number.parseFloat(answer.text) : Number.NaN;
  return Number.isNaN(celsius) ? null : celsius;
}

/** The compute processes on one GPU, in CSV: `pid, MiB, name`. */
export function askForProcesses(gpuUuid: string, env: EnvironmentVariables): Promise<SmiAnswer> {
  const query = ['--query-compute-apps=pid,used_memory,process_name', `--id=${gpuUuid}`];
  return ask([...query, '--format=csv,noheader,nounits'], env, PROCESSES_TIMEOUT_MS);
}

function ask(args: readonly string[], env: EnvironmentVariables, timeoutMs: number): Promise<SmiAnswer> {
  return new Promise((resolve) => {
    execFile(
      'nvidia-smi',
      args,
      { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: MAX_BYTES, env: definedVariables(env) },
      (error, stdout) => {
        resolve(
          error === null
            ? { kind: 'said', text: stdout }
            : { kind: 'none', reason: reasonOf(error, stdout, timeoutMs) },
        );
      },
    );
  });
}

function reasonOf(error: Error, stdout: string, timeoutMs: number): string {
  if ('code' in error && error.code === 'ENOENT') return 'it is not installed';
  if ('killed' in error && error.killed === true) return `nothing within ${timeoutMs / 1000} s`;
  const [line = ''] = stdout.trim().split('\n');
  return line === '' ? 'it failed' : `"${line}"`;
}
