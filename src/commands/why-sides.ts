import { changeRows } from '../analyse/layers/change-rows.ts';
import { diffLayers } from '../analyse/layers/diff-layers.ts';
import { layerFactsOf } from '../analyse/layers/layer-facts.ts';
import type { WhySides } from '../analyse/why/side-facts.ts';
import type { KeyedCell } from '../domain/cell.ts';
import { cellDifference } from '../domain/cell-label.ts';
import type { ExplainedRun } from '../domain/explained-run.ts';
import { explainedRuns } from '../store/explained-runs.ts';
import type { StoreDatabase } from '../store/open.ts';
import { profiledCell } from './profiled-engine.ts';

/** One cell in some sweeps, or one run of it. */
export interface WhyPoint {
  readonly cell: KeyedCell;
  readonly sweepIds: readonly string[];
  readonly runId: string | null;
  /** What to write for it after `bench layers CELL --diff`. */
  readonly name: string;
}

/** Everything that the store knows of two sides of a cell. */
export function whySides(db: StoreDatabase, base: WhyPoint, head: WhyPoint): WhySides {
  return {
    base: usableRuns(db, base),
    head: usableRuns(db, head),
    cudaGraph: base.cell.cudaGraph && head.cell.cudaGraph,
    isSameCell: base.cell.key === head.cell.key,
    cellDifference: cellDifference(base.cell, head.cell),
    layers: layersOf(db, base, head),
    names: { cell: base.cell.key.slice(0, 8), base: base.name, head: head.name },
  };
}

/** Measured runs; where there are none, those that at least have numbers. */
function usableRuns(
  db: StoreDatabase,
  { cell, sweepIds, runId }: WhyPoint,
): readonly ExplainedRun[] {
  const all = explainedRuns(db, { cellKey: cell.key, inputs: cell.inputs, sweepIds, runId });
  const measured = all.filter(({ outcome }) => outcome.kind === 'measured');
  return measured.length > 0 ? measured : all;
}

function layersOf(db: StoreDatabase, base: WhyPoint, head: WhyPoint): WhySides['layers'] {
  const before = profiledCell(db, base.cell, base.sweepIds, base.name);
  const after = profiledCell(db, head.cell, head.sweepIds, head.name);
  if (before === null || after === null || before.runId === after.runId) return null;
  if (before.iterations === null || after.iterations === null) return null;
  const diff = diffLayers(layerFactsOf(before.layers), layerFactsOf(after.layers));
  return { diff, rows: changeRows(diff) };
}
