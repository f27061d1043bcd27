import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf, isJudgedOnly, isBoundShare } from '../../records/gated-metric.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { percentOfLog } from '../../statistics/special-functions.ts';
import { directionOf } from '../history/lasting-changes.ts';
import type { Change } from '../sweep/sweep-effect.ts';
import type { MetricHistory, PairResult, SweepEvidence } from './evidence.ts';
import { MAX_DROP_DB } from '../../records/accuracy.ts';
import { median } from '../../statistics/order-statistics.ts';

export type FindingCell = Finding['cells'][number];
export type About = Pick<FindingCell, 'cellKey' | 'metric'>;
type Levels = Pick<FindingCell, 'before' | 'after'>;

export function idOf({ cellKey, metric }: About): string {
  return `${cellKey} ${metric}`;
}

export interface CellChange extends FindingCell {
  readonly direction: Finding['direction'];
  /** Index of the first sweep at the new level; `lastGood` is that of the last one at the old level (null: unknown). */
  readonly place: number;
  readonly lastGood: number | null;
  readonly lasts: Finding['lasts'];
  readonly pairs: PairResult | null;
  readonly isBuildLuck: boolean;
}

type KnownOfChange = 'cellKey' | 'metric' | 'before' | 'after' | 'place' | 'lastGood';

export function cellChange(known: Pick<CellChange, KnownOfChange> & Partial<CellChange>): CellChange {
  const { after, before, metric } = known;
  return {
    direction: directionOf(after - before, gatedMetricOf(metric).betterIs),
    changePercent: changePercentOf(metric, known),
    ciPercent: null,
    margin: 1,
    lasts: null,
    pairs: null,
    isBuildLuck: false,
    ...known,
  };
}

export function cellIn({ cells }: Finding, { cellKey, metric }: About): FindingCell | undefined {
  return cells.find((cell) => cell.cellKey === cellKey && cell.metric === metric);
}

/** Percentage of the value before; for shares the difference in percentage points. */
export function changePercentOf(metric: GatedMetricId, { before, after }: Levels): number {
  if (isJudgedOnly(metric)) return after - before;
  return before === 0 ? 100 : percentOfLog(Math.log(after / before));
}

/** Whether at least half of the change remains at a value. */
export function isMostlyLeft({ after, before, metric }: Levels & Pick<FindingCell, 'metric'>, value: number): boolean {
  const isRelative = !isJudgedOnly(metric) && before > 0 && after > 0 && value > 0;
  const left = isRelative ? Math.log(value / before) / Math.log(after / before) : (value - before) / (after - before);
  return left >= 0.5;
}

/** Change of the raw value in percent with its 95 % interval, from a log whose positive values are worse. */
export function rawChange(metric: GatedMetricId, log: number, reach: number) {
  const sign = gatedMetricOf(metric).betterIs === 'lower' ? 1 : -1;
  const ends = [percentOfLog(sign * (log - reach)), percentOfLog(sign * (log + reach))] as const;
  const ciPercent: [number, number] = [Math.min(...ends), Math.max(...ends)];
  return { changePercent: percentOfLog(sign * log), ciPercent };
}

export function sizeOf(metric: GatedMetricId, before: number, { error, log, reach }: Change) {
  const raw = rawChange(metric, log, reach);
  const after = before * (1 + raw.changePercent / 100);
  return { before, after, ...raw, margin: error > 0 ? Math.abs(log) / error : 1 };
}

interface Margin {
  readonly share?: number;
  readonly difference?: number;
  /** With fewer sweeps, only a change of `youngMargins` margins is reported. */
  readonly leastPast?: number;
  readonly youngMargins?: number;
}

/** Metrics that hardly vary from run to run. The margin is a share of the value, or a difference in its unit. */
const MARGINS: Readonly<Partial<Record<GatedMetricId, Margin>>> = {
  engineMib: { share: 0.02, difference: 0.1 },
  contextMib: { share: 0.02, difference: 0.1 },
  processMemoryMib: { share: 0.05, difference: 32 },
  hostMemoryMib: { share: 0.25, difference: 128, leastPast: 3, youngMargins: 3 },
  // It depends on the tactics that the builder tries: fewer with a timing cache.
  buildMemoryMib: { share: 0.5, difference: 64, leastPast: 3, youngMargins: 2 },
  precisionSharePercent: { difference: 5 },
  sqnrDb: { difference: MAX_DROP_DB },
  // The time of a build depends on other work of the machine, so only a much longer build is reported.
  buildS: { share: 1, difference: 10, leastPast: 3 },
};

/** Range of the last sweeps, or of the first half of a level's first sweeps if that is lower: a drift does not raise it. */
const REFERENCE_SWEEPS = 20;
const LEAST_REFERENCE = 3;
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

type Entry = { readonly place: number; readonly value: number };

interface Reported {
  readonly evidence: Pick<SweepEvidence, 'baselinePlace'>;
  readonly judged: number;
  readonly known: readonly Finding[];
  readonly placeOf: (sweepId: SweepId) => number;
}

/** The sweep whose runs are the reference; undefined without a reference or a value. */
export function baselineOf(
  { history: { places, values } }: Pick<MetricHistory, 'history'>,
  { evidence }: Pick<Reported, 'evidence'>,
): Entry | undefined {
  const place = evidence.baselinePlace ?? -1;
  const value = values[places.indexOf(place)];
  return value === undefined ? undefined : { place, value };
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
  if (history.places.at(-1) !== reported.judged || !isSteady(metric)) return [];
  // Most sizes are constant.
  if (history.values.every((value) => value === history.values[0])) return [];
  const entries = history.places.map((place, index) => ({ place, value: history.values[index] ?? 0 }));
  const baseline = baselineOf(measured, reported);
  if (isBoundShare(metric)) return boundChanges(cellKey, metric, entries, baseline);
  const now = entries.at(-1)?.value ?? 0;
  const whole = { before: baseline?.value ?? 0, after: now, metric };
  const isReported = reported.known.some((finding) => {
    const change = finding.state === 'recovered' ? undefined : cellIn(finding, { cellKey, metric });
    return change !== undefined && isMostlyLeft(whole, change.after) && !isMostlyLeft(whole, change.before);
  });
  const isAgainst = baseline !== undefined && !isReported;
  // The values since a reported change began are expected; if it is over or ends now, those before or without it.
  let past = entries.slice(0, -1);
  for (const finding of reported.known) {
    const change = cellIn(finding, { cellKey, metric });
    const begin = reported.placeOf(finding.firstBadSweepId);
    if (change === undefined || begin < 0) continue;
    const isOver = finding.state === 'recovered' || !isMostlyLeft(change, now);
    past = past.filter(({ place, value }) => (isOver ? place < begin || !isMostlyLeft(change, value) : place >= begin));
  }
  if (isAgainst) past = [baseline];
  const last = past.at(-1);
  if (last === undefined) return [];
  const { leastPast = 1, youngMargins = Infinity } = MARGINS[metric] ?? {};
  const isYoung = !isAgainst && past.length < leastPast;
  const half = Math.ceil(Math.min(past.length, REFERENCE_SWEEPS) / 2);
  const parts = [past.slice(-REFERENCE_SWEEPS), past.slice(0, Math.max(LEAST_REFERENCE, half))];
  const [recent = [], begin = []] = parts.map((part) => part.map(({ value }) => value));
  const lower = Math.max(...begin) < Math.max(...recent) ? begin : recent;
  const isMore = now > Math.max(...lower);
  const values = isMore ? lower : recent;
  const edge = isMore ? Math.max(...values) : Math.min(...values);
  const margin = marginBetween(metric, edge, now);
  // An improvement of a metric that only warns is not reported.
  if (!(margin > (isYoung ? youngMargins : 1)) || (!isMore && (now > edge || metric === 'buildS'))) return [];
  const change = { cellKey, metric, before: median(values) ?? edge, after: now };
  const good = entries.findLast(({ value }) => !isMostlyLeft(change, value)) ?? last;
  const place = entries.find((entry) => entry.place > good.place)?.place ?? reported.judged;
  return [cellChange({ ...change, place, lastGood: good.place, lasts: 'measured', margin })];
}

/** A bottleneck that changed from no run of the last sweeps to every run of the newest ones, or to some of each. */
function boundChanges(cellKey: CellKey, metric: GatedMetricId, entries: readonly Entry[], baseline: Entry | undefined) {
  for (let count: number = BOUND.sweeps; count <= BOUND.mostSweeps; count += 1) {
    const past = entries.slice(-count - BOUND.calmSweeps, -count);
    const [before, now] = [baseline === undefined ? past : [baseline], entries.slice(-count)];
    const [first, last] = [now[0], before.at(-1)];
    if (first === undefined || last === undefined || before.some(({ value }) => value > 0)) continue;
    const values = now.map(({ value }) => value);
    const isAll = values.every((value) => value >= 100);
    if (!isAll && !(count === BOUND.mostSweeps && values.every((value) => value > 0))) continue;
    const levels = { before: 0, after: median(values) ?? 100 };
    return [cellChange({ cellKey, metric, ...levels, place: first.place, lastGood: last.place, lasts: 'history' })];
  }
  return [];
}
