import type { Evidence, FailureReason, Outcome, UnfitReason } from '../../records/outcome.ts';
import type { ProcessFacts } from '../run-facts.ts';
import type { RunFlag, RunFlagId } from '../../records/run-flag.ts';
import { timeLimitText } from '../../records/time-limit.ts';

export function failed(reason: FailureReason, evidence: readonly Evidence[]): Outcome {
  return { kind: 'failed', reason, evidence };
}

export function unfitFor(reason: UnfitReason, evidence: readonly Evidence[]): Outcome {
  return { kind: 'unfit', reason, evidence };
}

/** Evidence from the operating system or the file system, not from the log. */
export function syntheticEvidence(text: string): Evidence[] {
  return [{ stream: 'stdout', line: 0, text }];
}

/** The outcome of a process that was ended from outside; null if it was not. */
export function endedByOthers(process: ProcessFacts): Outcome | null {
  if (process.timedOut) {
    const { limit } = process;
    return failed('timeout', syntheticEvidence(limit === null ? 'ended by the time limit' : timeLimitText(limit)));
  }
  if (process.logTooLong) return failed('logTooLong', syntheticEvidence('ended, as it had printed more than 1 GiB'));
  if (process.cancelled) return failed('cancelled', syntheticEvidence('ended by Ctrl-C'));
  switch (signalOf(process)) {
    case 'SIGINT':
      return failed('cancelled', syntheticEvidence('ended by SIGINT'));
    case 'SIGKILL':
    case 'SIGTERM':
    case 'SIGHUP':
    case 'SIGXCPU':
      return failed('killed', syntheticEvidence(`ended by ${signalOf(process)}`));
    default:
      return null;
  }
}

const SIGNALS_BY_NUMBER: Readonly<Record<number, string>> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  13: 'SIGPIPE',
  15: 'SIGTERM',
  24: 'SIGXCPU',
};

/** A shell reports 128+N for signal N. */
export function signalOf({ signal, exitCode }: ProcessFacts): string | null {
  if (signal !== null) return signal;
  return exitCode !== null && exitCode > 128 ? (SIGNALS_BY_NUMBER[exitCode - 128] ?? null) : null;
}

function reasonOf(flag: RunFlagId): UnfitReason {
  return flag === 'contended' || flag === 'debugTensors' ? flag : 'throttled';
}

/** What the machine, or what it had to do at the same time, did to the run, where that is beyond doubt. */
export function disturbed(flags: readonly RunFlag[]): Outcome | null {
  const flag = flags.find(({ effect }) => effect === 'excluded');
  if (flag === undefined) return null;
  return unfitFor(reasonOf(flag.id), syntheticEvidence(flag.evidence));
}
