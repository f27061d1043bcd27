import { and, desc, eq, isNull, type SQL } from 'drizzle-orm';

import type { Accuracy, AccuracyRecord } from '../../records/accuracy.ts';
import type { KeyedCell } from '../../records/cell.ts';
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
  return select(db, and(eq(accuracies.model, model), eq(accuracies.precision, precision)));
}

function select(db: StoreDatabase, where: SQL | undefined): AccuracyRecord[] {
  return db
    .select()
    .from(accuracies)
    .where(where)
    .orderBy(desc(accuracies.measuredAt), accuracies.accuracyId)
    .all()
    .map(fromRow);
}

/**
 * Accuracies by cell key, for the exact file from which its engine was built; for imports, for the same model and
 * precision.
 */
export function accuracyOfCells(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  sweepIds: readonly SweepId[],
): Map<string, Accuracy> {
  const models = cells.map(({ model }) => model);
  const byFile = new Map([...recordsByCell(db, sweepIds)].map(([key, [newest]]) => [key, newest]));
  const unknown = importedWithoutFile(db, sweepIds);
  const stated = select(db, isAmong(accuracies.model, models));
  return new Map(
    cells.flatMap((cell) => {
      const row =
        byFile.get(cell.key) ??
        (unknown.has(cell.key)
          ? stated.find(({ model, precision }) => model === cell.model && precision === cell.precision)
          : undefined);
      return row === undefined ? [] : [[cell.key, row.accuracy] as const];
    }),
  );
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

function importedWithoutFile(db: StoreDatabase, sweepIds: readonly SweepId[]): Set<string> {
  const which = and(isAmong(runs.sweepId, sweepIds), eq(runs.provenance, 'imported'), isNull(builds.modelSha256));
  const { cellKey: key } = runs;
  const rows = db.selectDistinct({ cellKey: key }).from(runs).leftJoin(builds, ON.build).where(which).all();
  return new Set(rows.flatMap(({ cellKey }) => cellKey ?? []));
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
