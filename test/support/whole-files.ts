import type { Outcome } from '../../src/records/outcome.ts';
import { TimesReader } from '../../src/trtexec/exports/times.ts';
import { type JudgedParts, judgeRun } from '../../src/trtexec/log/judge.ts';
import type { TrtexecRun } from '../../src/trtexec/log/run-builder.ts';
import { TrtexecLogParser } from '../../src/trtexec/log/trtexec-log.ts';
import { DEFAULT_FITNESS_LIMITS, NO_EXPORTS, type ProcessFacts, type QueryTimes } from '../../src/trtexec/run-facts.ts';

export const UNKNOWN_PROCESS: ProcessFacts = {
  exitCode: null,
  signal: null,
  timedOut: false,
  limit: null,
  cancelled: false,
  logTooLong: false,
};

/** How a run is judged of which nothing but its log is known. */
export function judged(run: TrtexecRun, parts: Partial<JudgedParts> = {}): Outcome {
  const alone = { exports: NO_EXPORTS, requested: {}, limits: DEFAULT_FITNESS_LIMITS, flags: [] };
  return judgeRun({ run, process: UNKNOWN_PROCESS, ...alone, ...parts });
}

export function parseTimes(bytes: Buffer): QueryTimes {
  const reader = new TimesReader();
  reader.push(bytes);
  return reader.end();
}

export function parseTrtexecLog(stdout: Buffer | string, stderr: Buffer | string = '') {
  const parser = new TrtexecLogParser();
  parser.push(Buffer.from(stdout), 'stdout');
  parser.push(Buffer.from(stderr), 'stderr');
  return parser.end();
}
