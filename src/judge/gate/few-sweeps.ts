import { noiseKindOf } from '../../records/cell.ts';
import type { CellKey } from '../../records/scalars.ts';
import { type GatedMetricId, gatedMetricOf } from '../../records/gated-metric.ts';
import { compareCells, type TwoSides } from '../compare/compare-cells.ts';
import { type CellChange, cellChange, mainOf } from './cell-change.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';

const FEW = {
  /** With fewer cells these do not say by how much two sweeps differ beyond their runs. */
  cellsForNoise: 20,
  /** Then this is assumed of a sweep: standard deviation, log scale; it counts as much as so many differences. */
  sweepSigma: 0.003,
  priorWeight: 4,
  /** Share of false ones among the changes called: of the metric that a cell is compared by, and of each other one. */
  q: 0.03,
  otherQ: 0.005,
  /** Against the first sweep, which is looked at in every sweep anew. */
  firstQ: 0.01,
} as const;

/** A cell with too few sweeps for a history, in one metric. */
export interface YoungCell {
  readonly evidence: CellEvidence;
  readonly measured: MetricHistory;
  /** The place from which its level is known to hold: the first sweep, or where the newest known change began. */
  readonly since: number;
}

/** What is not called, but lies off for the worse: key of the cell, and errors of the difference. */
export interface YoungSuspect {
  readonly cellKey: CellKey;
  readonly metric: GatedMetricId;
  readonly deviations: number;
}

/** All cells of one metric against their previous sweep, and against the first one of their level. */
export function judgeYoung(metric: GatedMetricId, cells: readonly YoungCell[], judged: number) {
  const previous = compare(metric, cells, (young) => young.measured.history.nights.length - 2, judged, qOf);
  const first = compare(metric, cells, firstOfLevel, judged, () => FEW.firstQ);
  const called = new Set(previous.changes.map(({ cellKey }) => cellKey));
  return {
    changes: [...previous.changes, ...first.changes.filter(({ cellKey }) => !called.has(cellKey))],
    suspects: previous.suspects,
  };
}

function qOf(young: YoungCell): number {
  return young.measured.metric === mainOf(young.evidence)?.metric ? FEW.q : FEW.otherQ;
}

/** -1 where it is the previous sweep or the judged one itself. */
function firstOfLevel({ measured: { history }, since }: YoungCell): number {
  const first = history.nights.findIndex((night) => night >= since);
  return first < history.nights.length - 2 ? first : -1;
}

function compare(
  metric: GatedMetricId,
  cells: readonly YoungCell[],
  baseOf: (young: YoungCell) => number,
  judged: number,
  q: (young: YoungCell) => number,
) {
  const pairs = cells.flatMap((young) => {
    const { history, runs } = young.measured;
    const base = baseOf(young);
    const [before = [], now = []] = [runs[base], runs.at(-1)].map((made = []) => made.map(({ value }) => value));
    const isJudged = history.nights.at(-1) === judged && base >= 0;
    return isJudged && before.length > 0 && now.length > 0 ? [{ young, base, before, now }] : [];
  });
  const [{ young: any } = {}] = pairs;
  if (any === undefined) return { changes: [], suspects: [] };
  const systematicError = pairs.length < FEW.cellsForNoise ? sweepError(pairs.map(({ young }) => young.measured)) : 0;
  const sides = pairs.map(({ young, before, now }): TwoSides => ({
    cellKey: young.evidence.cell.key,
    base: before,
    head: now,
    betterIs: gatedMetricOf(metric).betterIs,
    kind: noiseKindOf(young.evidence.cell),
    systematicError,
  }));
  const compared = new Map(compareCells(sides, { q: q(any) }).cells.map((cell) => [cell.cellKey, cell]));
  const changes: CellChange[] = [];
  const suspects: YoungSuspect[] = [];
  for (const { young, base } of pairs) {
    const { cell } = young.evidence;
    const comparison = compared.get(cell.key);
    if (comparison === undefined || comparison.base === null || comparison.head === null) continue;
    const { base: before, ciPercent, head: after, verdict } = comparison;
    const lastGood = young.measured.history.nights[base] ?? null;
    if (verdict === 'slower' || verdict === 'faster') {
      changes.push(
        cellChange(
          cell,
          metric,
          { before, after },
          { place: judged, lastGood, confirmedBy: 'previousSweep', ciPercent },
        ),
      );
    } else if (isWorse(comparison.ciPercent, gatedMetricOf(metric).betterIs)) {
      suspects.push({ cellKey: cell.key, metric, deviations: 3 });
    }
  }
  return { changes, suspects };
}

function isWorse(ciPercent: readonly [number, number] | null, betterIs: 'lower' | 'higher'): boolean {
  if (ciPercent === null) return false;
  const [low, high] = ciPercent;
  return betterIs === 'lower' ? low > 0.5 : high < -0.5;
}

/**
 * Standard deviation of the difference of two sweeps that more runs do not reduce, log scale: what is assumed, and from
 * the third sweep on what the cells' earlier sweeps say.
 */
function sweepError(cells: readonly MetricHistory[]): number {
  const squares = cells.flatMap(({ history: { values } }) => {
    const past = [...values.subarray(0, -1)].map(Math.log);
    return past.slice(1).map((value, place) => (value - (past[place] ?? value)) ** 2);
  });
  // A change in the past is no noise: differences count up to three times what is assumed.
  const most = 2 * (3 * FEW.sweepSigma) ** 2;
  const sum = squares.reduce((total, square) => total + Math.min(square, most), 0);
  const assumed = FEW.priorWeight * 2 * FEW.sweepSigma ** 2;
  return Math.sqrt((assumed + sum) / (FEW.priorWeight + squares.length));
}
