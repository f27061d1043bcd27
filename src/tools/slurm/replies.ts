import { printable } from '../../text/printable.ts';

export interface JobId {
  readonly jobId: string;
  readonly cluster: string | null;
}

/** What `sbatch --parsable` printed; filters of a site may print above it. Null when no id is there. */
export function parseJobId(stdout: string): JobId | null {
  const last = stdout.split('\n').findLast((line) => line.trim() !== '') ?? '';
  const [, jobId, cluster = null] = /^(\d+)(?:;([\w.-]+))?$/.exec(last.trim()) ?? [];
  return jobId === undefined ? null : { jobId, cluster };
}

/** What becomes of a command that Slurm did not take: nothing, or it may do so later. */
export type Refusal = 'final' | 'passing';

const PASSING = [
  /unable to contact slurm controller/i,
  /socket timed out/i,
  /resource temporarily unavailable/i,
  /QOSMaxSubmit/i,
  /AssocMaxSubmit/i,
  /slurm temporarily unable to accept job/i,
  /connection (?:refused|timed out|reset)/i,
  /zero bytes were transmitted or received/i,
  /unable to connect to|communication (?:connection )?failure/i,
];

export function refusalOf(stderr: string): Refusal {
  return PASSING.some((pattern) => pattern.test(stderr)) ? 'passing' : 'final';
}

const UNREACHABLE =
  /unable to contact slurm controller|socket timed out|zero bytes were transmitted|connection (?:refused|timed out)|unable to connect to slurm/i;

/** The controller gave no answer: then nothing can be said of any job. */
export function isUnreachable(stderr: string): boolean {
  return UNREACHABLE.test(stderr);
}

/** What Slurm said last, in one line without its own name. */
export function lastWords(stderr: string): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const last = lines.findLast((line) => /error:/.test(line)) ?? lines.findLast(Boolean) ?? '';
  return printable(last.replace(/^\w+: (?:error: )?/, '')).slice(0, 300);
}

/** `scontrol show config`, one value. */
export function configValue(text: string, key: string): string | null {
  const line = text.split('\n').find((entry) => entry.split('=')[0]?.trim() === key);
  return line === undefined ? null : line.slice(line.indexOf('=') + 1).trim();
}
