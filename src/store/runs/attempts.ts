import { and, asc, eq, getTableColumns, max } from 'drizzle-orm';

import type { RunTry } from '../../records/run.ts';
import type { StoreDatabase } from '../file/open.ts';
import { attempts } from '../schema.ts';

/** Writes down that a process is about to be started for a run, and returns which start it is, from 1. */
export function recordAttempt(db: StoreDatabase, sweepId: string, runId: string, startedAt: string): number {
  return db.transaction(
    (tx) => {
      const before = tx
        .select({ attempt: max(attempts.attempt) })
        .from(attempts)
        .where(and(eq(attempts.runId, runId), eq(attempts.sweepId, sweepId)))
        .get();
      const attempt = (before?.attempt ?? 0) + 1;
      tx.insert(attempts).values({ runId, attempt, sweepId, startedAt }).run();
      return attempt;
    },
    { behavior: 'immediate' },
  );
}

/** Writes down how a start ended; also of one that this store has not seen, as in an import. */
export function recordTry(db: Pick<StoreDatabase, 'insert'>, sweepId: string, runId: string, ended: RunTry): void {
  const { startedAt, endedAt, outcome, reason, evidence } = ended;
  db.insert(attempts)
    .values({ ...ended, runId, sweepId })
    .onConflictDoUpdate({
      target: [attempts.runId, attempts.attempt],
      set: { startedAt, endedAt, outcome, reason, evidence },
    })
    .run();
}

/** A start of a run as it is shown; without an end it was cut off. */
export interface ShownAttempt extends Pick<RunTry, 'attempt' | 'startedAt' | 'reason' | 'evidence'> {
  readonly endedAt: string | null;
  readonly outcome: RunTry['outcome'] | null;
}

export function attemptsOf(db: StoreDatabase, runId: string): ShownAttempt[] {
  const { sweepId: _sweepId, runId: _runId, ...columns } = getTableColumns(attempts);
  return db.select(columns).from(attempts).where(eq(attempts.runId, runId)).orderBy(asc(attempts.attempt)).all();
}
