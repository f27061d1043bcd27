import { MAX_DROP_DB } from '../../records/accuracy.ts';
import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, isBoundShare } from '../../records/gated-metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { median } from '../../statistics/median.ts';
import type { MetricHistory, SweepEvidence } from './evidence.ts';
import { type CellChange, cellChange, cellIn, isMostlyLeft } from './metric-changes.ts';

interface Margin {
  readonly share?: number;
  readonly difference?: number;
  readonly leastPast?: number;
}

/**
 * Metrics that hardly vary from run to run. A value beyond all of its recent past is a change, and another measurement
 * would give it again. The margin is a share of the value, or a difference in its unit.
 */
const MARGINS: Readonly<Partial<Record<GatedMetricId, Margin>>> = {
  engineMib: { share: 0.02, difference: 0.1 },
  contextMib: { share: 0.02, difference: 0.1 },
  precisionSharePercent: { difference: 5 },
  sqnrDb: { difference: MAX_DROP_DB },
  // The time of a build depends on other work of the machine, so only a much longer build is reported.
  buildS: { share: 1, difference: 10, leastPast: 3 },
};

const RECENT_SWEEPS = 20;
const BOUND = {
  /** The cell never had this bottleneck in this many sweeps before. */
  calmSweeps: 10,
  /** A change needs the bottleneck in every run of `sweeps` sweeps, or in some runs of each of `mostSweeps` sweeps. */
  sweeps: 2,
  mostSweeps: 4,
} as const;

export function isSteady(metric: GatedMetricId): boolean {
  return isBoundShare(metric) || MARGINS[metric] !== undefined;
}

interface Entry {
  readonly place: number;
  readonly value: number;
}

interface Reported {
  readonly evidence?: Pick<SweepEvidence, 'baselinePlace'>;
  readonly judged: number;
  readonly known: readonly Finding[];
  readonly placeOf: (sweepId: SweepId) => number;
}

/** The value of the sweep whose runs are the reference; undefined without a reference or a value. */
export function baselineValue(
  { history: { nights, values } }: Pick<MetricHistory, 'history'>,
  { evidence, judged }: Pick<Reported, 'evidence' | 'judged'>,
): number | undefined {
  const place = evidence?.baselinePlace ?? judged;
  return place === judged ? undefined : values[nights.indexOf(place)];
}

/** Distance between two values in margins; up to 1 they are the same. A bottleneck is either present or not. */
export function marginBetween(metric: GatedMetricId, from: number, to: number): number {
  if (isBoundShare(metric)) return from === 0 && to > 0 ? Infinity : 0;
  const { share = 0, difference = 0 } = MARGINS[metric] ?? {};
  return Math.abs(to - from) / Math.max(share * Math.abs(from), difference);
}

/** Changes of a steady metric in the judged sweep. @param reported changes that earlier sweeps reported */
export function steadyChanges(cellKey: CellKey, measured: MetricHistory, reported: Reported): CellChange[] {
  const { history, metric } = measured;
  if (history.nights.at(-1) !== reported.judged || !isSteady(metric)) return [];
  const entries = history.nights.map((place, index) => ({ place, value: history.values[index] ?? 0 }));
  const reference = baselineValue(measured, reported);
  const baseline =
    reference === undefined ? undefined : { place: reported.evidence?.baselinePlace ?? 0, value: reference };
  if (isBoundShare(metric)) return boundChanges(cellKey, metric, entries, baseline);
  const now = entries.at(-1)?.value ?? 0;
  const whole = { before: reference ?? 0, after: now, metric };
  const isReported = reported.known.some((finding) => {
    const change = finding.state === 'recovered' ? undefined : cellIn(finding, { cellKey, metric });
    return change !== undefined && isMostlyLeft(whole, change.after) && !isMostlyLeft(whole, change.before);
  });
  // A named baseline is the expected value until the whole change from it is reported.
  const isAgainst = baseline !== undefined && !isReported;
  // The expected values: those since a reported change began; if it is over, now or before, the others.
  let past = entries.slice(0, -1);
  for (const finding of reported.known) {
    const change = cellIn(finding, { cellKey, metric });
    const begin = reported.placeOf(finding.firstBadSweepId);
    if (change === undefined || begin < 0) continue;
    const isOver = finding.state === 'recovered' || !isMostlyLeft(change, now);
    past = past.filter(({ place, value }) => (isOver ? place < begin || !isMostlyLeft(change, value) : place >= begin));
  }
  past = isAgainst ? [baseline] : past.slice(-RECENT_SWEEPS);
  const last = past.at(-1);
  const leastPast = isAgainst ? 1 : (MARGINS[metric]?.leastPast ?? 1);
  if (last === undefined || past.length < leastPast) return [];
  const values = past.map(({ value }) => value);
  const isMore = now > Math.max(...values);
  const edge = isMore ? Math.max(...values) : Math.min(...values);
  const margin = marginBetween(metric, edge, now);
  // An improvement of a metric that only warns is not reported.
  if (!(margin > 1) || (!isMore && (now > edge || metric === 'buildS'))) return [];
  const good = (isAgainst ? entries.findLast((entry) => !isMostlyLeft(whole, entry.value)) : last) ?? last;
  const first = isAgainst ? entries.find((entry) => entry.place > good.place) : undefined;
  const place = first?.place ?? reported.judged;
  const facts = { place, lastGood: good.place, lasts: 'measured' as const, margin };
  return [cellChange(cellKey, metric, { before: last.value, after: now }, facts)];
}

/**
 * A bottleneck that changed from no run of the last sweeps to every run of the newest ones; with some runs of each,
 * more sweeps are needed.
 */
function boundChanges(
  cellKey: CellKey,
  metric: GatedMetricId,
  entries: readonly Entry[],
  baseline: Entry | undefined,
): CellChange[] {
  for (let count: number = BOUND.sweeps; count <= BOUND.mostSweeps; count += 1) {
    const past = entries.slice(-count - BOUND.calmSweeps, -count);
    const [before, now] = [baseline === undefined ? past : [baseline], entries.slice(-count)];
    const [first, last] = [now[0], before.at(-1)];
    if (first === undefined || last === undefined || before.some(({ value }) => value > 0)) continue;
    const values = now.map(({ value }) => value);
    const isAll = values.every((value) => value >= 100);
    if (!isAll && !(count === BOUND.mostSweeps && values.every((value) => value > 0))) continue;
    const facts = { place: first.place, lastGood: last.place, lasts: 'history' as const };
    return [cellChange(cellKey, metric, { before: 0, after: median(values) ?? 100 }, facts)];
  }
  return [];
}
