import { noiseKindOf } from '../../records/cell.ts';
import { type GatedMetricId, gatedMetricOf } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { CellComparison } from '../../records/verdict.ts';
import { meanLog } from '../../statistics/logarithms.ts';
import { compareCells, type TwoSides } from '../compare/compare-cells.ts';
import { pastValues } from '../past-values.ts';
import { squaresAround } from '../run-noise.ts';
import { type CellChange, cellChange, mainOf } from './cell-change.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';

const FEW = {
  /** With fewer cells these do not say by how much two sweeps differ beyond their runs. */
  cellsForNoise: 20,
  /** Then this is assumed of a sweep: standard deviation, log scale; it weighs as much as this number of differences. */
  sweepSigma: 0.003,
  /** Of a tail: a p99 is 10 % higher in one of 44 short runs, sometimes in both of a sweep (docs/real-gpus.md). */
  tailSigma: 0.03,
  priorWeight: 4,
  /** Share of false ones among the changes called: of the metric that a cell is compared by, and of each other one. */
  q: 0.004,
  otherQ: 0.001,
  /** Against the first sweep, which is looked at in every sweep anew. */
  firstQ: 0.002,
} as const;

/** Standard errors of an interval of 95 %. */
export const INTERVAL_ERRORS = 1.96;

/** A cell with too few sweeps for a history, in one metric: its sweeps at the expected level, and the judged one. */
export interface YoungCell {
  readonly evidence: CellEvidence;
  readonly measured: MetricHistory;
}

/** What lies off for the worse, by an interval of 95 % or more. */
export interface YoungSuspect {
  readonly cellKey: CellKey;
  readonly metric: GatedMetricId;
  /** Standard errors of the difference. */
  readonly deviations: number;
}

interface Called {
  readonly change: CellChange;
  readonly errors: number;
  readonly isCalled: boolean;
}

/** All cells of one metric against their previous sweep, and against the first one of their level. */
export function judgeYoung(metric: GatedMetricId, cells: readonly YoungCell[], judged: number) {
  const present = cells.filter(
    ({ measured: { history, runs } }) =>
      history.nights.at(-1) === judged && runs.length > 1 && history.values.every((value) => value > 0),
  );
  const isMain = present.some(({ evidence }) => mainOf(evidence)?.metric === metric);
  const previous = compare(metric, present, 'previous', isMain ? FEW.q : FEW.otherQ);
  const called = new Set(previous.filter(({ isCalled }) => isCalled).map(({ change }) => change.cellKey));
  const older = present.filter(({ evidence, measured }) => measured.runs.length > 2 && !called.has(evidence.cell.key));
  const first = compare(metric, older, 'first', isMain ? FEW.firstQ : FEW.otherQ).filter(({ isCalled }) => isCalled);
  return {
    changes: [...previous, ...first].filter(({ isCalled }) => isCalled).map(({ change }) => change),
    suspects: [...previous, ...first]
      .filter(({ change, errors }) => change.direction === 'slower' && errors >= INTERVAL_ERRORS)
      .map(({ change, errors }): YoungSuspect => ({ cellKey: change.cellKey, metric, deviations: errors })),
  };
}

function compare(metric: GatedMetricId, cells: readonly YoungCell[], base: 'previous' | 'first', q: number): Called[] {
  if (cells.length === 0) return [];
  const indexOf = ({ measured }: YoungCell): number => (base === 'first' ? 0 : measured.runs.length - 2);
  const sides = cells.map((young) => sidesOf(metric, young, indexOf(young)));
  const isTail = metric === 'p99Ms';
  const sigma = isTail ? FEW.tailSigma : FEW.sweepSigma;
  const assumedNights = isTail || cells.length < FEW.cellsForNoise ? 2 * sweepVariance(cells, sigma) : 0;
  const compared = new Map(
    compareCells(sides, { q, assumedNights, isShiftKept: true }).cells.map((cell) => [cell.cellKey, cell]),
  );
  return cells.flatMap((young) => {
    const comparison = compared.get(young.evidence.cell.key);
    return comparison === undefined ? [] : calledOf(comparison, metric, young, indexOf(young));
  });
}

function sidesOf(metric: GatedMetricId, { evidence, measured }: YoungCell, index: number): TwoSides {
  const { history, runs } = measured;
  const [base, head] = [valuesOf(runs[index]), valuesOf(runs.at(-1))];
  const past = { nights: history.nights.slice(0, -1), values: history.values.subarray(0, -1) };
  const runsASweep = runs.slice(0, -1).map(({ length }) => length);
  return {
    cellKey: evidence.cell.key,
    base,
    head,
    past: pastValues(past, runsASweep, base),
    betterIs: gatedMetricOf(metric).betterIs,
    kind: noiseKindOf(evidence.cell),
  };
}

function valuesOf(runs: MetricHistory['runs'][number] = []): number[] {
  return runs.map(({ value }) => value);
}

function calledOf(
  { base: before, ciPercent, head: after, verdict }: CellComparison,
  metric: GatedMetricId,
  { evidence, measured }: YoungCell,
  index: number,
): Called[] {
  if (before === null || after === null || ciPercent === null) return [];
  const [low, high] = ciPercent.map((percent) => Math.log1p(percent / 100));
  const error = ((high ?? 0) - (low ?? 0)) / 2 / INTERVAL_ERRORS;
  const errors = Math.abs(Math.log(after / before)) / error;
  const began = beganAt(measured, before, after, index);
  const { nights } = measured.history;
  const facts = { place: nights[began] ?? -1, lastGood: nights[began - 1] ?? null, ciPercent, margin: errors };
  const change = cellChange(evidence.cell, metric, { before, after }, { ...facts, confirmedBy: 'previousSweep' });
  return [{ change, errors, isCalled: verdict === 'slower' || verdict === 'faster' }];
}

/** Index of the first of the newest sweeps that lie nearer to the value after than to the one before. */
function beganAt({ history: { values } }: MetricHistory, before: number, after: number, base: number): number {
  const half = Math.sqrt(before * after);
  let index = values.length - 1;
  while (index - 1 > base && (values[index - 1] ?? half) > half === after > half) index -= 1;
  return index;
}

/**
 * Variance of a sweep beyond its runs, log scale: what is assumed, and from the third sweep on what the earlier sweeps of
 * the cells say.
 */
function sweepVariance(cells: readonly YoungCell[], sigma: number): number {
  // A change in the past is no noise: differences count up to three times what is assumed.
  const most = 2 * (3 * sigma) ** 2;
  let sum = FEW.priorWeight * sigma ** 2;
  let weight = FEW.priorWeight;
  for (const { measured } of cells) {
    const sweeps = measured.runs.slice(0, -1).map(valuesOf);
    for (const [index, after] of sweeps.entries()) {
      const before = sweeps[index - 1];
      if (before === undefined || Math.min(before.length, after.length) < 2) continue;
      const square = Math.min(most, (meanLog(after) - meanLog(before)) ** 2);
      sum += Math.max(0, square - errorOf(before) - errorOf(after)) / 2;
      weight += 1;
    }
  }
  return sum / weight;
}

/** Variance of the mean of runs, log scale. */
function errorOf(values: readonly number[]): number {
  return squaresAround(values) / (values.length - 1) / values.length;
}
