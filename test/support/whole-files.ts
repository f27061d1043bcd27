import { TimesReader } from '../../src/trtexec/exports/times.ts';
import type { TrtexecLog } from '../../src/trtexec/log/parsed-log.ts';
import { TrtexecLogParser } from '../../src/trtexec/log/trtexec-log.ts';
import type { ProcessFacts, QueryTimes } from '../../src/trtexec/run-facts.ts';

export const UNKNOWN_PROCESS: ProcessFacts = {
  exitCode: null,
  signal: null,
  timedOut: false,
  limit: null,
  cancelled: false,
  logTooLong: false,
};

export function parseTimes(bytes: Buffer): QueryTimes {
  const reader = new TimesReader();
  reader.push(bytes);
  return reader.end();
}

export function parseTrtexecLog(stdout: Buffer | string, stderr: Buffer | string = ''): TrtexecLog {
  const parser = new TrtexecLogParser();
  parser.push(Buffer.from(stdout), 'stdout');
  parser.push(Buffer.from(stderr), 'stderr');
  return parser.end();
}
