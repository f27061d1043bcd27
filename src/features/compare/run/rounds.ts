import { cellsToRepeat, type GrowingCell } from '../../../judge/adaptive-repeats.ts';
import { valueRule } from '../../../judge/value-rule.ts';
import { type KeyedCell, noiseKindOf } from '../../../records/cell.ts';
import { gateMetric, isOfBuild, type MetricId, metricOf } from '../../../records/metric.ts';
import { type CellRun, isMeasured } from '../../../records/run.ts';

type RoundRun = Pick<CellRun, 'centres' | 'outcome' | 'repeat' | 'role' | 'values'>;

/** A cell with the timed runs of both sides so far. */
export interface PairedCell {
  readonly cell: KeyedCell;
  readonly base: readonly RoundRun[];
  readonly head: readonly RoundRun[];
  /** Runs that a side can have; infinite for a real trtexec. */
  readonly capacity: number;
  /** Wall time of another run of both sides, seconds. */
  readonly roundS: number;
}

export interface Enough {
  /** Rounds that every cell gets. */
  readonly repeats: number;
  readonly maxRepeats: number;
  /** Cells are repeated until a change of this size would be detected. */
  readonly percent: number;
  /** Null: of each cell its own. */
  readonly metric: MetricId | null;
}

/** Rounds that a cell has on both sides. */
export function roundsOf({ base, head }: Pick<PairedCell, 'base' | 'head'>): number {
  return Math.min(newestOf(base)?.repeat ?? 0, newestOf(head)?.repeat ?? 0);
}

/** The cells of the next round, those that gain most for their time first; empty when enough is known. */
export function nextRound(cells: readonly PairedCell[], enough: Enough): PairedCell[] {
  const { maxRepeats, metric, percent, repeats } = enough;
  const first = cells.filter((cell) => roundsOf(cell) < Math.min(repeats, cell.capacity));
  if (first.length > 0) return first;
  const growing = cells.flatMap((cell) => growingCell(cell, metric) ?? []);
  const look = 1 + Math.max(0, ...cells.map(roundsOf)) - repeats;
  const { open, limitedByNights } = cellsToRepeat(growing, Math.max(1, look), { percent, deviations: 0 });
  const byKey = new Map(cells.map((cell) => [cell.cell.key, cell]));
  // Both sides have the same night: what looks like one is the scatter of few runs, which more of them settle.
  return [...open, ...limitedByNights].flatMap((key) => {
    const cell = byKey.get(key);
    return cell !== undefined && roundsOf(cell) < Math.min(maxRepeats, cell.capacity) && !hasFailed(cell) ? [cell] : [];
  });
}

/** Null where there is nothing to learn from more runs. */
function growingCell({ cell, base, head, roundS }: PairedCell, requested: MetricId | null): GrowingCell | null {
  const metric = gateMetric(requested, cell);
  const sides = [base, head].map((side) => side.filter(isMeasured));
  const valueOf = valueRule(sides.flat(), metric);
  const [before = [], now = []] = sides.map((side) => side.flatMap((run) => valueOf(run) ?? []));
  if (before.length === 0 || now.length === 0 || isOfBuild(metric)) return null;
  return {
    cellKey: cell.key,
    base: before,
    head: now,
    // Both sides are measured in turns: what differs from sweep to sweep is on both.
    past: [],
    kind: noiseKindOf(cell),
    betterIs: metricOf(metric).betterIs,
    runS: roundS,
  };
}

function hasFailed({ base, head }: PairedCell): boolean {
  return [base, head].some((side) => newestOf(side)?.outcome.kind === 'failed');
}

function newestOf(runs: readonly RoundRun[]): RoundRun | undefined {
  return runs.toSorted((a, b) => a.repeat - b.repeat).at(-1);
}
