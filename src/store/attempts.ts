import { and, eq, max } from 'drizzle-orm';

import type { StoreDatabase } from './open.ts';
import { attempts } from './schema.ts';

/** Writes down that a process is about to be started for a run, and returns which try it is, from 1. */
export function recordAttempt(
  db: StoreDatabase,
  sweepId: string,
  runId: string,
  startedAt: string,
): number {
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
