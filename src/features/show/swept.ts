import { graphGains } from '../../judge/graph-pairs.ts';
import type { summarizeCells } from '../../judge/summarize-cells.ts';
import { outcomeReason } from '../../records/outcome.ts';
import type { Sweep } from '../../records/sweep.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { ShownSweep } from './output.ts';

export type CellSummary = ReturnType<typeof summarizeCells>[number];

/** What `bench run` and `bench show SWEEP` print. */
export function shownSweepOf(
  sweep: Sweep,
  counts: ShownSweep['counts'],
  cells: readonly CellSummary[],
  failures: ShownSweep['failures'],
): ShownSweep {
  return {
    schemaVersion: 1,
    ...sweep,
    counts,
    graphGains: graphGainsOf(cells),
    failures,
    cells: cells.map(({ cell, others, noEngine, runsQps: _runs, ...numbers }) => ({
      key: cell.key,
      label: cellLabel(cell),
      ...numbers,
      noEngine: noEngine === null ? null : outcomeReason(noEngine),
      others: others.map(({ role, outcome, times }) => ({
        role,
        kind: outcome.kind === 'failed' ? 'failed' : 'unfit',
        reason: outcomeReason(outcome),
        times,
      })),
    })),
  };
}

function graphGainsOf(cells: readonly CellSummary[]): ShownSweep['graphGains'] {
  const gains = graphGains(cells);
  if (gains === null) return null;
  return {
    medianPercent: gains.medianPercent,
    pairs: gains.pairs.map(({ without, with: graph, ...numbers }) => ({
      withoutKey: without.cell.key,
      withKey: graph.cell.key,
      ...numbers,
    })),
  };
}
