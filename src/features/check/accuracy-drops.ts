import { type AccuracyDrop, accuracyDrop, sameAccuracyHistory } from '../../judge/accuracy-drop.ts';
import { type AccuracyRecord, MAX_DROP_DB } from '../../records/accuracy.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { CheckedSweep } from './output.ts';
import { recordsByCell } from '../../store/runs/accuracies.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { Night } from './night.ts';

/**
 * Accuracies of tonight's files beside those of the last night on which there were any: a model is as accurate on every
 * run, so one night is enough, and a fall is told on the night on which its file came.
 */
export function accuracyDrops(
  db: StoreDatabase,
  { sweep, sweeps }: Night,
  cells: readonly KeyedCell[],
): CheckedSweep['accuracy'] {
  const tonight = recordsByCell(db, [sweep.sweepId]);
  if (tonight.size === 0) return [];
  for (const { sweepId } of sweeps.toReversed()) {
    if (sweepId === sweep.sweepId) continue;
    const before = recordsByCell(db, [sweepId]);
    if (before.size > 0) return dropsBetween(cells, before, tonight);
  }
  return [];
}

type RecordsByCell = ReadonlyMap<string, readonly AccuracyRecord[]>;

function dropsBetween(cells: readonly KeyedCell[], before: RecordsByCell, tonight: RecordsByCell) {
  const fallen = new Map<string, CheckedSweep['accuracy'][number]>();
  for (const cell of cells) {
    const found = dropOf(before.get(cell.key) ?? [], tonight.get(cell.key) ?? []);
    if (found === null) continue;
    const { now, before: was, dropDb } = found;
    fallen.set(now.accuracyId, {
      model: now.model,
      precision: now.precision,
      before: was.accuracy.sqnrDb,
      after: now.accuracy.sqnrDb,
      dropDb: Number.isFinite(dropDb) ? dropDb : null,
      keys: [...(fallen.get(now.accuracyId)?.keys ?? []), cell.key],
    });
  }
  return [...fallen.values()];
}

/** Of the newest two on the same inputs. */
function dropOf(
  before: readonly AccuracyRecord[],
  tonight: readonly AccuracyRecord[],
): (AccuracyDrop & { readonly now: AccuracyRecord }) | null {
  for (const now of tonight) {
    const was = before.find((other) => sameAccuracyHistory(other, now));
    if (was === undefined) continue;
    const drop = accuracyDrop(now, was, MAX_DROP_DB);
    return drop?.isRegression === true ? { ...drop, now } : null;
  }
  return null;
}
