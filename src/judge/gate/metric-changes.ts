import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf, isJudgedOnly, isBoundShare } from '../../records/gated-metric.ts';
import { percentOfLog } from '../../statistics/special-functions.ts';
import { directionOf } from '../history/lasting-changes.ts';
import type { Change } from '../sweep/sweep-effect.ts';
import type { PairResult } from './evidence.ts';
import { MAX_DROP_DB } from '../../records/accuracy.ts';

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

export function cellChange(known: About & Levels & Pick<CellChange, 'lastGood' | 'place'> & Partial<CellChange>) {
  const { after, before, isBuildLuck = false, lasts = null, metric, pairs = null } = known;
  const isLuck = pairs?.outcome === 'buildLuck';
  return {
    direction: directionOf(after - before, gatedMetricOf(metric).betterIs),
    changePercent: changePercentOf(metric, known),
    ciPercent: null,
    margin: 1,
    ...known,
    pairs,
    lasts: isLuck || pairs?.outcome === 'confirmed' ? 'pairs' : lasts,
    isBuildLuck: isLuck || isBuildLuck,
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

/** With fewer than `leastPast` sweeps, only a change of `youngMargins` margins is reported. */
type Margin = Readonly<Partial<Record<'share' | 'difference' | 'leastPast' | 'youngMargins', number>>>;

/** Metrics that hardly vary, in the order of the gate. The margin is a share of the value, or a difference in its unit. */
export const MARGINS: Readonly<Partial<Record<GatedMetricId, Margin>>> = {
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

export function isSteady(metric: GatedMetricId): boolean {
  return isBoundShare(metric) || MARGINS[metric] !== undefined;
}

/** Distance between two values in margins; up to 1 they are the same. A bottleneck is either present or not. */
export function marginBetween(metric: GatedMetricId, from: number, to: number): number {
  if (isBoundShare(metric)) return from === 0 && to > 0 ? Infinity : 0;
  const { share = 0, difference = 0 } = MARGINS[metric] ?? {};
  return Math.abs(to - from) / Math.max(share * Math.abs(from), difference);
}
