import { ExportFormatError } from '../../errors.ts';
import { type Answer, ask, askNow, type NoAnswer, problemOf } from '../../process/ask.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import type { OtherProcess } from '../../records/telemetry.ts';
import { printable } from '../../text/printable.ts';
import { type GpuReport, parseGpuReport } from './gpu-report.ts';
import { numberOrNull } from './values.ts';

const PROGRAM = 'nvidia-smi';

/** With many GPUs and a driver that is not loaded yet, nvidia-smi takes seconds. */
const REPORT_TIMEOUT_MS = 20_000;
const PROCESSES_TIMEOUT_MS = 5_000;

/** The report, or why there is none. */
export async function askForReport(
  env: EnvironmentVariables,
  timeoutMs = REPORT_TIMEOUT_MS,
): Promise<GpuReport | NoAnswer> {
  const answer = await ask(PROGRAM, ['-q', '-x'], { env, timeoutMs });
  if (answer.kind !== 'answered') return answer;
  try {
    return parseGpuReport(answer.text);
  } catch (error) {
    if (!(error instanceof ExportFormatError)) throw error;
    return { ...answer, kind: 'refused', problem: error.message, exitCode: 0, signal: null };
  }
}

/** A report with at least one GPU; a text says why there is none. */
export async function readReport(env: EnvironmentVariables): Promise<GpuReport | string> {
  const report = await askForReport(env);
  if ('kind' in report) return problemOf(report);
  return report.gpus.length === 0 ? 'it found no GPU' : report;
}

export function askForDevices(env: EnvironmentVariables): Promise<Answer> {
  return ask(PROGRAM, ['-L'], { env, timeoutMs: REPORT_TIMEOUT_MS });
}

/** Temperature in degrees Celsius; null if not reported. */
export async function askForTemperature(gpuUuid: string, env: EnvironmentVariables): Promise<number | null> {
  const query = ['--query-gpu=temperature.gpu', `--id=${gpuUuid}`, '--format=csv,noheader,nounits'];
  const answer = await ask(PROGRAM, query, { env, timeoutMs: PROCESSES_TIMEOUT_MS });
  const celsius = answer.kind === 'answered' ? Number.parseFloat(answer.text) : Number.NaN;
  return Number.isNaN(celsius) ? null : celsius;
}

/** Compute processes on one GPU, in CSV: `pid, MiB, name`. */
export function askForProcesses(gpuUuid: string, env: EnvironmentVariables): Promise<Answer> {
  const query = ['--query-compute-apps=pid,used_memory,process_name', `--id=${gpuUuid}`];
  return ask(PROGRAM, [...query, '--format=csv,noheader,nounits'], { env, timeoutMs: PROCESSES_TIMEOUT_MS });
}

export type AskNvidiaSmi = ReturnType<typeof nvidiaSmi>;

/** Synchronous nvidia-smi, which also works while this process exits. */
export function nvidiaSmi(env: EnvironmentVariables) {
  return (args: readonly string[]) => {
    const answer = askNow(PROGRAM, args, { env, timeoutMs: REPORT_TIMEOUT_MS });
    const text = 'text' in answer ? `${answer.text}\n${answer.stderr}`.trim() : '';
    // The first line has the reason.
    const line = printable(text.split('\n')[0] ?? '');
    return {
      /** Null if it did not start, was ended by a signal, or timed out. */
      exitCode: answer.kind === 'answered' ? 0 : answer.kind === 'refused' ? answer.exitCode : null,
      /** Both outputs, because either may contain errors. */
      text,
      /** The error in a few words; null for exit code 0. */
      problem: answer.kind === 'answered' ? null : `${PROGRAM}: ${line || problemOf(answer)}`,
    };
  };
}

/** With MPS, the work of every process runs through this server, including that of a run. */
const MPS_SERVER = /(?:^|\/)nvidia-cuda-mps-server$/;

/** Parses `nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv,noheader,nounits`. */
export function parseComputeApps(text: string): OtherProcess[] {
  return text.split('\n').flatMap((line) => {
    const [pid = '', memory, ...name] = line.split(',');
    if (!/^\d+$/.test(pid.trim())) return [];
    const process = { pid: Number(pid), name: name.join(',').trim(), memoryMib: numberOrNull(memory) };
    return MPS_SERVER.test(process.name) ? [] : [process];
  });
}

/**
 * The most memory that some processes held together in one sample, in MiB. Null if none of them is listed, as in a
 * container whose process IDs differ from those of its host.
 * @param lines output of `nvidia-smi pmon -s m -o DT`: date, time, GPU, process, type, MiB, ...
 */
export function peakProcessMib(
  lines: readonly string[],
  pids: ReadonlySet<number>,
  from: Date,
  to: Date,
): number | null {
  const bySample = new Map<string, number>();
  for (const line of lines) {
    const [date = '', time = '', , pid, , memory] = line.split(/\s+/);
    const at = Date.parse(`${date.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3')}T${time}Z`);
    const mib = numberOrNull(memory);
    if (mib === null || !pids.has(Number(pid)) || !(at >= from.getTime() && at <= to.getTime())) continue;
    bySample.set(time, (bySample.get(time) ?? 0) + mib);
  }
  return bySample.size === 0 ? null : Math.max(...bySample.values());
}
