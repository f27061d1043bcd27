import { MAX_DROP_DB } from '../../records/accuracy.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { type GatedMetricId, isBoundShare } from '../../records/gated-metric.ts';
import { median } from '../../statistics/median.ts';
import type { CellEvidence, MetricHistory, SweepEvidence } from './evidence.ts';
import { type CellChange, cellChange, cellIn, isMostlyLeft, type PlacedFinding } from './metric-changes.ts';

interface Margin {
  readonly share?: number;
  readonly difference?: number;
  /** Sweeps that say what is expected; 1 where nothing is stated. */
  readonly leastPast?: number;
}

/**
 * Metrics that hardly vary from run to run: a value beyond all of its recent past is a change by itself, and measuring
 * again would give it again. The margin is a share of the value, or a difference in its unit.
 */
const MARGINS: Readonly<Partial<Record<GatedMetricId, Margin>>> = {
  engineMib: { share: 0.02, difference: 0.1 },
  contextMib: { share: 0.02, difference: 0.1 },
  precisionSharePercent: { difference: 5 },
  sqnrDb: { difference: MAX_DROP_DB },
  // A build takes as long as its machine has other work: only a far longer one is worth a line.
  buildS: { share: 1, difference: 10, leastPast: 3 },
};

/** Recent values that a new one is held against. */
const RECENT_SWEEPS = 20;
const BOUND = {
  /** A cell that never had this bottleneck in this many sweeps, */
  calmSweeps: 10,
  /** and has it in every run of the first number of sweeps, or in some runs of each of the second. */
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

type Judged = Pick<SweepEvidence, 'baselinePlace' | 'sweeps'>;

/** The value of the sweep whose runs are the reference; undefined where none is, or it has no value. */
export function baselineValue({ history }: MetricHistory, { baselinePlace, sweeps }: Judged): number | undefined {
  return baselinePlace === sweeps.length - 1 ? undefined : history.values[history.nights.indexOf(baselinePlace ?? -1)];
}

/** How far a value is from another, in margins: up to 1 it is the same. A bottleneck is there, or is not. */
export function marginBetween(metric: GatedMetricId, from: number, to: number): number {
  if (isBoundShare(metric)) return from === 0 && to > 0 ? Infinity : 0;
  const { share = 0, difference = 0 } = MARGINS[metric] ?? {};
  return Math.abs(to - from) / Math.max(share * Math.abs(from), difference);
}

/** What the judged sweep says of a metric that is steady. @param known what was reported in earlier sweeps */
export function steadyChanges(
  { cell }: CellEvidence,
  measured: MetricHistory,
  known: readonly PlacedFinding[],
  evidence: Judged,
): CellChange[] {
  const { history, metric } = measured;
  if (history.nights.at(-1) !== evidence.sweeps.length - 1 || !isSteady(metric)) return [];
  const entries = history.nights.map((place, index): Entry => ({ place, value: history.values[index] ?? 0 }));
  const value = baselineValue(measured, evidence);
  const baseline = value === undefined ? undefined : { place: evidence.baselinePlace ?? 0, value };
  return isBoundShare(metric)
    ? boundChanges(cell, metric, entries, baseline)
    : marginChanges(cell, metric, entries, known, baseline);
}

function marginChanges(
  cell: KeyedCell,
  metric: GatedMetricId,
  entries: readonly Entry[],
  known: readonly PlacedFinding[],
  baseline: Entry | undefined,
): CellChange[] {
  const now = entries.at(-1);
  const whole = { before: baseline?.value ?? 0, after: now?.value ?? 0, metric };
  const isReported = known.some(({ finding }) => {
    const change = finding.state === 'recovered' ? undefined : cellIn(finding, { cellKey: cell.key, metric });
    return change !== undefined && isMostlyLeft(whole, change.after) && !isMostlyLeft(whole, change.before);
  });
  // The values that are expected after what was reported: those since it began, or the others where it is over, or now.
  const expected = known.reduce(
    (past, { finding, place }) => {
      const change = cellIn(finding, { cellKey: cell.key, metric });
      if (change === undefined || place < 0) return past;
      return past.filter((entry) =>
        finding.state === 'recovered' || (now !== undefined && !isMostlyLeft(change, now.value))
          ? entry.place < place || !isMostlyLeft(change, entry.value)
          : entry.place >= place,
      );
    },
    entries.slice(0, -1),
  );
  // A named baseline is what is expected, until the whole change from it is reported.
  const isAgainst = baseline !== undefined && !isReported;
  const past = isAgainst ? [baseline] : expected.slice(-RECENT_SWEEPS);
  const last = past.at(-1);
  const leastPast = isAgainst ? 1 : (MARGINS[metric]?.leastPast ?? 1);
  if (now === undefined || last === undefined || past.length < leastPast) return [];
  const values = past.map(({ value }) => value);
  const isMore = now.value > Math.max(...values);
  const edge = isMore ? Math.max(...values) : Math.min(...values);
  const isBeyond = isMore || now.value < edge;
  const margin = marginBetween(metric, edge, now.value);
  if (!isBeyond || !(margin > 1)) return [];
  // A better value is no news of a metric that only warns.
  if (metric === 'buildS' && !isMore) return [];
  const good = (isAgainst ? entries.findLast(({ value }) => !isMostlyLeft(whole, value)) : last) ?? last;
  const first = (isAgainst ? entries.find(({ place }) => place > good.place) : now) ?? now;
  const facts = { place: first.place, lastGood: good.place, lasts: 'measured' as const, margin };
  return [cellChange(cell, metric, { before: last.value, after: now.value }, facts)];
}

/** From no run in all of the last sweeps to every run of the newest ones; some runs of each need more sweeps. */
function boundChanges(
  cell: KeyedCell,
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
    return [cellChange(cell, metric, { before: 0, after: median(values) ?? 100 }, facts)];
  }
  return [];
}
