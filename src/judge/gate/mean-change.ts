import { isJudgedOnly } from '../../records/gated-metric.ts';
import type { GeometricMean } from '../../records/verdict.ts';
import { differences, scaleOf } from '../../statistics/order-statistics.ts';
import { type CellRatio, geometricMean, type Noise, sharedNoise, valuesByPlace } from '../geometric-mean.ts';
import { pooledVariance } from '../run-noise.ts';
import { mainOf } from './cell-change.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import type { JudgedCell } from './verdict.ts';

/** Sweeps that a reference level is taken to be estimated from. */
const LEVEL_SWEEPS = 7;
/** With fewer earlier sweeps the runs say the noise of a cell, and nothing how it differs from sweep to sweep. */
const LEAST_SWEEPS = 4;
/** Information of a median of absolute differences next to that of a mean of squares. */
const EFFICIENCY = 0.37;

/**
 * Geometric mean of the judged sweep over the reference levels that `check` compares with. Of the metric that most cells are shown by; the others are left out, as are cells without a value.
 * @param cells as `judgeSweep` returns them
 * @param evidence of the same cells; @param sweeps number of sweeps, the judged one included
 * @returns null when no cell has a level and a value
 */
export function meanChange(
  cells: readonly JudgedCell[],
  evidence: readonly CellEvidence[],
  sweeps: number,
): GeometricMean | null {
  const compared = cells.filter(({ metric }) => !isJudgedOnly(metric));
  const byMetric = Map.groupBy(compared, ({ metric }) => metric);
  const [most = []] = [...byMetric.values()].toSorted((a, b) => b.length - a.length);
  const counted = new Set(most);
  const histories = new Map(evidence.map((one) => [one.cell.key, mainOf(one)]));
  const ratios = cells.map((cell): CellRatio => {
    const { before, cellKey, now } = cell;
    const measured = histories.get(cellKey);
    const isKnown = counted.has(cell) && before !== null && now !== null && before > 0 && now > 0;
    return {
      logRatio: isKnown ? Math.log(now / before) : null,
      noise: measured === undefined ? null : noiseOf(measured),
    };
  });
  const byPlace = most.flatMap(({ cellKey }) => {
    const measured = histories.get(cellKey);
    return measured === undefined ? [] : [valuesByPlace(measured.history).slice(0, sweeps - 1)];
  });
  return geometricMean(ratios, sharedNoise(byPlace, Math.max(1, Math.min(LEVEL_SWEEPS, sweeps - 1))));
}

/** Of the newest value against the level of the sweeps before it, log scale. */
function noiseOf(measured: MetricHistory): Noise | null {
  const { history } = measured;
  const past = history.values.slice(0, -1);
  const level = Math.min(LEVEL_SWEEPS, past.length);
  if (past.length >= LEAST_SWEEPS) {
    const deviation = scaleOf(differences(past.map(Math.log), 1), 0.5);
    return { variance: deviation ** 2 * (1 + 1 / level), degrees: EFFICIENCY * past.length };
  }
  const [base = [], head = []] = measured.runs.slice(-2);
  const { degrees, variance } = pooledVariance({ base, head });
  return degrees === 0 || base.length * head.length === 0
    ? null
    : { variance: variance * (1 / base.length + 1 / head.length), degrees };
}
