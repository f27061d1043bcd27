import { and, asc, eq, isNotNull } from 'drizzle-orm';

import type { StoreDatabase } from '../file/open.ts';
import { prunedRuns, runs } from '../schema.ts';

export interface PrunedRun {
  readonly prunedAt: string;
  readonly samples: boolean;
  readonly layers: boolean;
  readonly artefacts: boolean;
}

/** What `bench db prune` took from a run; null when it took nothing. */
export function prunedFrom(db: StoreDatabase, runId: string): PrunedRun | null {
  return db.select().from(prunedRuns).where(eq(prunedRuns.runId, runId)).get() ?? null;
}

export interface RunFolder {
  readonly runId: string;
  readonly startedAt: string | null;
  /** True when its files went on purpose. */
  readonly isPruned: boolean;
}

/** The runs of a sweep that have, or had, a folder of artefacts. */
export function runFoldersOf(db: StoreDatabase, sweepId: string): RunFolder[] {
  return db
    .select({ runId: runs.runId, startedAt: runs.startedAt, pruned: prunedRuns.artefacts })
    .from(runs)
    .leftJoin(prunedRuns, eq(prunedRuns.runId, runs.runId))
    .where(and(eq(runs.sweepId, sweepId), isNotNull(runs.artefactFolder)))
    .orderBy(asc(runs.runId))
    .all()
    .map(({ pruned, ...run }) => ({ ...run, isPruned: pruned === true }));
}
