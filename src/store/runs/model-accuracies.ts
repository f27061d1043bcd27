import { and, eq, type SQL, desc, isNull } from 'drizzle-orm';
import type { AccuracyRecord, Accuracy } from '../../records/accuracy.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { SweepId } from '../../records/scalars.ts';
import { accuracies } from '../annotations-schema.ts';
import { isAmong, ON } from '../conditions.ts';
import type { StoreDatabase } from '../file/open.ts';
import { runs, builds } from '../schema.ts';
import { fromRow, recordsByCell } from './accuracies.ts';

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

function importedWithoutFile(db: StoreDatabase, sweepIds: readonly SweepId[]): Set<string> {
  const which = and(isAmong(runs.sweepId, sweepIds), eq(runs.provenance, 'imported'), isNull(builds.modelSha256));
  const { cellKey: key } = runs;
  const rows = db.selectDistinct({ cellKey: key }).from(runs).leftJoin(builds, ON.build).where(which).all();
  return new Set(rows.flatMap(({ cellKey }) => cellKey ?? []));
}
