import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf, isJudgedOnly } from '../../records/gated-metric.ts';
import type { CellKey } from '../../records/scalars.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { directionOf } from '../history/change-points.ts';
import type { CellJudgement } from '../sweep/judgement.ts';
import type { PairResult } from './evidence.ts';

export type FindingCell = Finding['cells'][number];
export type About = Pick<FindingCell, 'cellKey' | 'metric'>;
type Levels = Pick<FindingCell, 'before' | 'after'>;

/** A changed metric of a cell. */
export interface CellChange extends FindingCell {
  readonly direction: Finding['direction'];
  /** Index of the first sweep at the new level; `lastGood` is that of the last one at the old level (null: unknown). */
  readonly place: number;
  readonly lastGood: number | null;
  readonly lasts: Finding['lasts'];
  readonly pairs: PairResult | null;
  readonly isBuildLuck: boolean;
}

export function cellChange(
  cellKey: CellKey,
  metric: GatedMetricId,
  levels: Levels,
  facts: Pick<CellChange, 'place' | 'lastGood'> & Partial<CellChange>,
): CellChange {
  return {
    cellKey,
    metric,
    ...levels,
    direction: directionOf(levels.after - levels.before, gatedMetricOf(metric).betterIs),
    changePercent: changePercentOf(metric, levels),
    ciPercent: null,
    margin: 1,
    lasts: null,
    pairs: null,
    isBuildLuck: false,
    ...facts,
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

/** A change in the form for output, from a level in the unit of the metric. */
export function sizeOf(metric: GatedMetricId, before: number, { error, log, reach }: CellJudgement['change']) {
  const raw = rawChange(metric, log, reach);
  const after = before * (1 + raw.changePercent / 100);
  return { before, after, ...raw, margin: error > 0 ? Math.abs(log) / error : 1 };
}
