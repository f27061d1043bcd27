import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf, isJudgedOnly } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import type { GeometricMean } from '../../records/verdict.ts';
import { median } from '../../statistics/order-statistics.ts';
import { geometricMean, sharedNoise, valuesByPlace } from '../geometric-mean.ts';
import type { CellEvidence, JudgedCell } from './evidence.ts';
import type { JudgedFacts } from './judged-facts.ts';
import { cellIn, changePercentOf, rawChange, baselineValue } from './metric-changes.ts';

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

export function judgedCell(
  cellKey: CellKey,
  metric: GatedMetricId,
  facts: JudgedFacts,
  findings: readonly Finding[],
): JudgedCell | null {
  const measured = facts.measured({ cellKey, metric });
  if (measured === undefined) return null;
  const { history, of, runs } = measured;
  const values = [...history.values];
  const isMeasured = history.places.at(-1) === facts.judged || (of.isLeftOut === true && values.length > 0);
  const about = { ...NOTHING, cellKey, metric, runs: isMeasured ? (runs.at(-1)?.length ?? 0) : 0 };
  const own = findings.filter((finding) => cellIn(finding, about) !== undefined);
  const open = own.filter(({ state }) => state === 'open');
  const mark = open.find(({ findingId }) => !facts.accepted.has(findingId));
  const state = facts.newestOf(about);
  const accepted = mark === undefined && open[0] !== undefined ? cellIn(open[0], about) : undefined;
  if (!isMeasured) {
    const before = accepted?.after ?? state?.before ?? levelOf(values);
    return { ...about, verdict: 'noResult', reason: of.isPlanned ? 'failed' : 'missing', before, notes: of.failures };
  }
  const value = values.at(-1) ?? null;
  if (value === null || values.length === 1) return { ...about, verdict: 'unclear', reason: 'new', now: value };
  const small = facts.evidence.rules.minChangeOf(cellKey, metric);
  // A change below the smallest relevant change counts as the same level.
  const verdictOf = (verdict: JudgedCell['verdict'], changePercent: number): JudgedCell['verdict'] =>
    Math.abs(changePercent) < small && (verdict === 'slower' || verdict === 'faster') ? 'same' : verdict;
  if (state === null) {
    // The verdict on a metric that hardly varies follows from its findings.
    const found = mark === undefined ? undefined : cellIn(mark, about)?.before;
    const before = baselineValue(measured, facts) ?? found ?? levelOf(values.slice(0, -1)) ?? value;
    const changePercent = changePercentOf(metric, { before, after: value });
    return {
      ...about,
      verdict: verdictOf(mark?.direction ?? 'same', changePercent),
      before,
      now: value,
      changePercent,
    };
  }
  const { change, detectable, isOnlyRunFarOff, levels, now, reference, verdict } = state;
  // If pairs cleared a finding, the verdict of the sweep's runs does not hold.
  const isCleared = own.some(({ direction, pairs }) => pairs?.outcome === 'cleared' && direction === verdict);
  const before = accepted?.after ?? state.before;
  const sign = gatedMetricOf(metric).betterIs === 'lower' ? 1 : -1;
  const raw = rawChange(metric, accepted === undefined ? change.log : sign * Math.log(now / before), change.reach);
  const said = accepted === undefined ? (mark?.direction ?? (isCleared ? 'same' : verdict)) : 'same';
  return {
    ...about,
    ...raw,
    verdict: verdictOf(said, raw.changePercent),
    before,
    now,
    mdePercent: 100 * Math.expm1(detectable),
    levels: levels === null ? null : [Math.exp(sign * levels[0]), Math.exp(sign * levels[1])],
    referenceSweeps: reference.sweeps,
    notes: isOnlyRunFarOff ? ['its only run is far outside the expected range'] : [],
  };
}

function levelOf(values: readonly number[]): number | null {
  return median(values.slice(-LEVEL_SWEEPS));
}

/** Half the width of a 95 % interval of the normal distribution, in standard deviations. */
const INTERVAL_SDS = 1.96;

/** Geometric mean of the judged sweep over the reference levels that `check` compares with. */
export function meanChange(cells: readonly JudgedCell[], evidence: readonly CellEvidence[]): GeometricMean | null {
  const timed = cells.filter(({ metric }) => !isJudgedOnly(metric));
  const byMetric = Map.groupBy(timed, ({ metric }) => metric);
  const [most = []] = [...byMetric.values()].toSorted((a, b) => b.length - a.length);
  const ratios = cells.map((cell) => {
    const { before, ciPercent, now } = cell;
    if (!most.includes(cell) || !before || !now) return { logRatio: null, noise: null };
    const [low, high] = ciPercent ?? [Number.NaN, Number.NaN];
    const sd = Math.log((100 + high) / (100 + low)) / 2 / INTERVAL_SDS;
    const noise = ciPercent === null ? null : { variance: sd ** 2, degrees: Infinity };
    return { logRatio: Math.log(now / before), noise };
  });
  const keys = new Set(most.map(({ cellKey }) => cellKey));
  const histories = evidence.flatMap(({ cell, metrics: [main] }) =>
    main !== undefined && keys.has(cell.key) ? [valuesByPlace(main.history).slice(0, -1)] : [],
  );
  const sweeps = Math.max(1, median(most.map(({ referenceSweeps }) => referenceSweeps)) ?? 1);
  return geometricMean(ratios, sharedNoise(histories, sweeps));
}
