import { and, desc, eq } from 'drizzle-orm';

import type { AccuracyRecord } from '../../records/accuracy.ts';
import { isAmong, ofSweep, ON } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds, runs } from '../schema.ts';
import { accuracies } from '../annotations-schema.ts';
import type { SweepId } from '../../records/scalars.ts';

/** Accuracies of the files from which each cell's engines were built in these sweeps, newest first. */
export function recordsByCell(db: StoreDatabase, sweepIds: readonly SweepId[]): Map<string, AccuracyRecord[]> {
  // Most stores have no accuracies but thousands of runs.
  if (db.select({ id: accuracies.accuracyId }).from(accuracies).get() === undefined) return new Map();
  const rows = db
    .selectDistinct({ cellKey: runs.cellKey, row: accuracies })
    .from(runs)
    .innerJoin(builds, ON.build)
    .innerJoin(accuracies, eq(accuracies.variantSha256, builds.modelSha256))
    .where(and(isAmong(runs.sweepId, sweepIds), ofSweep))
    .orderBy(desc(accuracies.measuredAt), accuracies.accuracyId)
    .all();
  const byCell = Map.groupBy(rows, ({ cellKey }) => cellKey ?? '');
  byCell.delete('');
  return new Map([...byCell].map(([key, own]) => [key, own.map(({ row }) => fromRow(row))]));
}

export function fromRow(row: typeof accuracies.$inferSelect): AccuracyRecord {
  const {
    top1Same: same,
    top1Of: of,
    customName: name,
    customVariant: variant,
    customReference: reference,
    ...rest
  } = row;
  const { sqnrDb, relativeError, cosineMin, cosineMean, maxAbsError, samples, ...about } = rest;
  const numbers = { sqnrDb, relativeError, cosineMin, cosineMean, maxAbsError, samples };
  const top1 = same === null || of === null ? null : { same, of };
  const custom = name === null || variant === null || reference === null ? null : { name, variant, reference };
  return { ...about, accuracy: { ...numbers, top1, custom } };
}
