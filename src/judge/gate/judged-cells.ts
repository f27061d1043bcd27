import type { Finding } from '../../records/finding.ts';
import { gatedMetricOf, isJudgedOnly } from '../../records/gated-metric.ts';
import type { GeometricMean } from '../../records/verdict.ts';
import { median } from '../../statistics/median.ts';
import { type CellRatio, geometricMean, sharedNoise, valuesByPlace } from '../geometric-mean.ts';
import type { CellEvidence, MetricHistory } from './evidence.ts';
import { cellIn, changePercentOf, type JudgedFacts, rawInterval, rawPercent, stateIn } from './metric-changes.ts';
import { baselineValue } from './steady-metrics.ts';
import type { JudgedCell } from './verdict.ts';

/** Newest values that say where a metric without noise lies. */
const LEVEL_SWEEPS = 7;

const NOTHING = {
  reason: null,
  before: null,
  now: null,
  changePercent: null,
  ciPercent: null,
  mdePercent: null,
  levels: null,
  referenceSweeps: 0,
  notes: [],
} as const;

/** Of one metric of a cell in the judged sweep, or, of a cell that was left out of it, in its newest one. @param findings after it */
export function judgedCell(
  { cell: { key: cellKey }, failures, isLeftOut = false, isPlanned }: CellEvidence,
  { history, metric, runs }: MetricHistory,
  { accepted, evidence, states }: Pick<JudgedFacts, 'accepted' | 'evidence' | 'states'>,
  findings: readonly Finding[],
): JudgedCell {
  const isMeasured = history.nights.at(-1) === evidence.sweeps.length - 1 || (isLeftOut && history.nights.length > 0);
  const about = { ...NOTHING, cellKey, metric, runs: isMeasured ? (runs.at(-1)?.length ?? 0) : 0 };
  const value = history.values.at(-1) ?? null;
  const own = findings.filter((finding) => cellIn(finding, about));
  const open = own.filter(({ state }) => state === 'open');
  const mark = open.find(({ findingId }) => !accepted.has(findingId));
  const state = stateIn(states, about);
  const [first] = open;
  const isAccepted = first !== undefined && mark === undefined;
  const acceptedAt = isAccepted ? cellIn(first, about)?.after : undefined;
  if (!isMeasured) {
    const before = acceptedAt ?? state?.before ?? levelOf([...history.values]);
    return { ...about, verdict: 'noResult', reason: isPlanned ? 'failed' : 'missing', before, notes: failures };
  }
  if (value === null || history.values.length === 1) return { ...about, verdict: 'unclear', reason: 'new', now: value };
  if (state === null) {
    // A metric that hardly varies is as its findings say.
    const found = mark === undefined ? undefined : cellIn(mark, about)?.before;
    const before =
      baselineValue({ history, metric, runs }, evidence) ?? found ?? levelOf([...history.values].slice(0, -1)) ?? value;
    const changePercent = changePercentOf(metric, { before, after: value });
    return { ...about, verdict: mark?.direction ?? 'same', before, now: value, changePercent };
  }
  const { change, detectable, isOnlyRunFarOff, levels, now, reference, verdict } = state;
  // What pairs took back is not what the runs of the sweep say.
  const isCleared = own.some(({ direction, pairs }) => pairs?.outcome === 'cleared' && direction === verdict);
  const before = acceptedAt ?? state.before;
  const isLower = gatedMetricOf(metric).betterIs === 'lower';
  const worse = isAccepted ? Math.log(now / before) * (isLower ? 1 : -1) : change.log;
  return {
    ...about,
    verdict: isAccepted ? 'same' : (mark?.direction ?? (isCleared ? 'same' : verdict)),
    before,
    now,
    changePercent: rawPercent(metric, worse),
    ciPercent: rawInterval(metric, worse, change.reach),
    mdePercent: 100 * Math.expm1(detectable),
    levels:
      levels === null ? null : [Math.exp(isLower ? levels[0] : -levels[0]), Math.exp(isLower ? levels[1] : -levels[1])],
    referenceSweeps: reference.sweeps,
    notes: isOnlyRunFarOff ? ['far off in its only run'] : [],
  };
}

function levelOf(values: readonly number[]): number | null {
  return median(values.slice(-LEVEL_SWEEPS));
}

/** Half of an interval of 95 % of a normal, in standard deviations. */
const INTERVAL_SDS = 1.96;

/**
 * Geometric mean of the judged sweep over the reference levels that `check` compares with. Of the metric that most cells
 * are shown by; the others are left out, as are cells without a value.
 * @param cells as `judgeSweep` returns them
 * @param evidence of the same cells
 * @returns null when no cell has a level and a value
 */
export function meanChange(cells: readonly JudgedCell[], evidence: readonly CellEvidence[]): GeometricMean | null {
  const byMetric = Map.groupBy(
    cells.filter(({ metric }) => !isJudgedOnly(metric)),
    ({ metric }) => metric,
  );
  const [most = []] = [...byMetric.values()].toSorted((a, b) => b.length - a.length);
  const ratios = cells.map((cell): CellRatio => {
    const { before, ciPercent, now } = cell;
    if (!most.includes(cell) || !before || !now) return { logRatio: null, noise: null };
    const [low, high] = ciPercent ?? [Number.NaN, Number.NaN];
    const sd = Math.log((100 + high) / (100 + low)) / 2 / INTERVAL_SDS;
    return {
      logRatio: Math.log(now / before),
      noise: ciPercent === null ? null : { variance: sd ** 2, degrees: Infinity },
    };
  });
  const keys = new Set(most.map(({ cellKey }) => cellKey));
  const mains = evidence.flatMap(({ cell, metrics: [main] }) =>
    main !== undefined && keys.has(cell.key) ? [main] : [],
  );
  const sweeps = Math.max(1, median(most.map(({ referenceSweeps }) => referenceSweeps)) ?? 1);
  return geometricMean(
    ratios,
    sharedNoise(
      mains.map(({ history }) => valuesByPlace(history).slice(0, -1)),
      sweeps,
    ),
  );
}
