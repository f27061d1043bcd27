import type { HarnessResult } from '../records/harness.ts';
import type { Evidence, Outcome } from '../records/outcome.ts';
import type { ProcessFacts } from '../trtexec/run-facts.ts';
import type { RunFlag } from '../records/run-flag.ts';
import { disturbed, endedByOthers, failed, syntheticEvidence, signalOf } from '../trtexec/log/judge.ts';

/** A nonzero exit code is a failure regardless of the output. `lastError` is the last line on standard error. */
export function judgeHarness(
  result: HarnessResult,
  process: ProcessFacts,
  lastError: Evidence | null,
  flags: readonly RunFlag[],
): Outcome {
  return (
    endedByOthers(process) ??
    exitedBadly(process, lastError, result) ??
    (result.kind === 'faulty' ? failed('incomplete', syntheticEvidence(result.problem)) : null) ??
    disturbed(flags) ?? { kind: 'measured', evidence: [] }
  );
}

const OUT_OF_MEMORY = /out of memory|OutOfMemoryError/i;

function exitedBadly(process: ProcessFacts, lastError: Evidence | null, result: HarnessResult): Outcome | null {
  const signal = signalOf(process);
  if (signal === null && (process.exitCode ?? 0) === 0) return null;
  const how = signal === null ? `exit code ${process.exitCode}` : `crashed by ${signal}`;
  if (lastError === null) {
    const why = result.kind === 'faulty' ? result.problem : 'no word on standard error';
    return failed('unknown', syntheticEvidence(`${how}: ${why}`));
  }
  const reason = OUT_OF_MEMORY.test(lastError.text) ? 'outOfMemory' : 'unknown';
  return failed(reason, [lastError, ...syntheticEvidence(how)]);
}
