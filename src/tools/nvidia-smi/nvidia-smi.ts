import { type Answer, ask, askNow, type NoAnswer, problemOf } from '../../process/ask.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import type { OtherProcess } from '../../records/telemetry.ts';
import { printable } from '../../text/printable.ts';
import { numberOrNull } from './values.ts';

const PROGRAM = 'nvidia-smi';

/** A machine of many GPUs whose driver has to wake up first takes seconds. */
const REPORT_TIMEOUT_MS = 20_000;
const PROCESSES_TIMEOUT_MS = 5_000;

/** The whole report of every GPU, in XML: once, before anything is timed. */
export function askForReport(env: EnvironmentVariables): Promise<Answer> {
  return ask(PROGRAM, ['-q', '-x'], { env, timeoutMs: REPORT_TIMEOUT_MS });
}

export function askForDevices(env: EnvironmentVariables): Promise<Answer> {
  return ask(PROGRAM, ['-L'], { env, timeoutMs: REPORT_TIMEOUT_MS });
}

/** Temperature of one GPU in degrees Celsius; null when it does not state one. */
export async function askForTemperature(gpuUuid: string, env: EnvironmentVariables): Promise<number | null> {
  const query = ['--query-gpu=temperature.gpu', `--id=${gpuUuid}`, '--format=csv,noheader,nounits'];
  const answer = await ask(PROGRAM, query, { env, timeoutMs: PROCESSES_TIMEOUT_MS });
  const celsius = answer.kind === 'answered' ? Number.parseFloat(answer.text) : Number.NaN;
  return Number.isNaN(celsius) ? null : celsius;
}

/** The compute processes on one GPU, in CSV: `pid, MiB, name`. */
export function askForProcesses(gpuUuid: string, env: EnvironmentVariables): Promise<Answer> {
  const query = ['--query-compute-apps=pid,used_memory,process_name', `--id=${gpuUuid}`];
  return ask(PROGRAM, [...query, '--format=csv,noheader,nounits'], { env, timeoutMs: PROCESSES_TIMEOUT_MS });
}

/** Why there is no report, in a few words. It complains on its standard output. */
export function whyNoReport(answer: NoAnswer): string {
  switch (answer.kind) {
    case 'missing':
      return 'it is not installed';
    case 'silent':
      return `nothing within ${answer.afterS} s`;
    case 'refused': {
      const line = firstLine(answer.text);
      return line === '' ? 'it failed' : `"${line}"`;
    }
  }
}

interface SmiResult {
  /** Null when it was not started, was ended by a signal or gave no answer in time. */
  readonly exitCode: number | null;
  /** Both of its outputs: it complains now on one, now on the other. */
  readonly text: string;
  /** What went wrong, in a few words; null when it ended with 0. */
  readonly problem: string | null;
}

export type AskNvidiaSmi = (args: readonly string[]) => SmiResult;

/** A Ctrl-C at the terminal ends it as well, and what it was to restore is not restored yet. */
const TRIES_AFTER_SIGNAL = 3;

/** nvidia-smi, waited for on the spot: also while this process ends, when nothing else than that can be waited for. */
export function nvidiaSmi(env: EnvironmentVariables): AskNvidiaSmi {
  return (args) => {
    for (let tries = 1; ; tries += 1) {
      const answer = askNow(PROGRAM, args, { env, timeoutMs: REPORT_TIMEOUT_MS });
      const wasInterrupted = answer.kind === 'refused' && answer.signal !== null;
      if (!wasInterrupted || tries >= TRIES_AFTER_SIGNAL) return resultOf(answer);
    }
  };
}

function resultOf(answer: Answer): SmiResult {
  if (answer.kind === 'missing' || answer.kind === 'silent') {
    return { exitCode: null, text: '', problem: problemOf(PROGRAM, answer) };
  }
  const text = `${answer.text}\n${answer.stderr}`.trim();
  if (answer.kind === 'answered') return { exitCode: 0, text, problem: null };
  const { exitCode, signal } = answer;
  const line = firstLine(text);
  if (signal !== null) return { exitCode, text, problem: `${PROGRAM} was ended by ${signal}` };
  const problem = line === '' ? `${PROGRAM} failed with exit code ${exitCode}` : `${PROGRAM} says: ${printable(line)}`;
  return { exitCode, text, problem };
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}

/** With it the work of every process runs through this one, also that of a run. */
const MPS_SERVER = /(?:^|\/)nvidia-cuda-mps-server$/;

/** Reads `nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv,noheader,nounits`. */
export function parseComputeApps(text: string): OtherProcess[] {
  return text.split('\n').flatMap((line) => {
    const [pid = '', memory, ...name] = line.split(',');
    if (!/^\d+$/.test(pid.trim())) return [];
    const process = { pid: Number(pid), name: name.join(',').trim(), memoryMib: numberOrNull(memory) };
    return MPS_SERVER.test(process.name) ? [] : [process];
  });
}
