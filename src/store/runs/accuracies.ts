import { and, desc, eq } from 'drizzle-orm';

import type { Accuracy, AccuracyRecord } from '../../records/accuracy.ts';
import { isAmong, ofSweep, ON } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { builds, runs } from '../schema.ts';
import { accuracies } from '../annotations-schema.ts';
import type { SweepId } from '../../records/scalars.ts';

export function saveAccuracy(db: StoreDatabase, record: AccuracyRecord): void {
  const { accuracy, ...about } = record;
  const { top1, custom, ...numbers } = accuracy;
  db.insert(accuracies)
    .values({
      ...about,
      ...numbers,
      top1Same: top1?.same ?? null,
      top1Of: top1?.of ?? null,
      customName: custom?.name ?? null,
      customVariant: custom?.variant ?? null,
      customReference: custom?.reference ?? null,
    })
    .onConflictDoNothing()
    .run();
}

export function accuracyHistory(
  db: StoreDatabase,
  { model, precision }: Pick<AccuracyRecord, 'model' | 'precision'>,
): AccuracyRecord[] {
  return db
    .select()
    .from(accuracies)
    .where(and(eq(accuracies.model, model), eq(accuracies.precision, precision)))
    .orderBy(desc(accuracies.measuredAt), accuracies.accuracyId)
    .all()
    .map(fromRow);
}

/** The newest accuracies by cell key, for the exact file from which its engine was built. */
export function accuracyOfCells(db: StoreDatabase, sweepIds: readonly SweepId[]): Map<string, Accuracy> {
  const byCell = [...recordsByCell(db, sweepIds)];
  return new Map(byCell.flatMap(([key, own]) => own.slice(0, 1).map(({ accuracy }) => [key, accuracy] as const)));
}

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

function fromRow(row: typeof accuracies.$inferSelect): AccuracyRecord {
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
