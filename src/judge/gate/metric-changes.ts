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

/** A metric of a cell that moved. */
export interface CellChange extends FindingCell {
  readonly direction: Finding['direction'];
  /** Places of the first sweep at the new level, and of the last one at the old one (null: unknown). */
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

/** In percent of the value before; of shares in percent the difference in points. */
export function changePercentOf(metric: GatedMetricId, { before, after }: Levels): number {
  if (isJudgedOnly(metric)) return after - before;
  return before === 0 ? 100 : percentOfLog(Math.log(after / before));
}

/** At least half of the change is there at a value. */
export function isMostlyLeft({ after, before, metric }: Levels & Pick<FindingCell, 'metric'>, value: number): boolean {
  const isRelative = !isJudgedOnly(metric) && before > 0 && after > 0 && value > 0;
  const left = isRelative ? Math.log(value / before) / Math.log(after / before) : (value - before) / (after - before);
  return left >= 0.5;
}

/** Raw change of a value, in percent, with its interval of 95 %, for a log on the scale where above 0 is worse. */
export function rawChange(metric: GatedMetricId, log: number, reach: number) {
  const sign = gatedMetricOf(metric).betterIs === 'lower' ? 1 : -1;
  const ends = [percentOfLog(sign * (log - reach)), percentOfLog(sign * (log + reach))] as const;
  const ciPercent: [number, number] = [Math.min(...ends), Math.max(...ends)];
  return { changePercent: percentOfLog(sign * log), ciPercent };
}

/** A change as it is shown, from a level in the unit of the metric. */
export function sizeOf(metric: GatedMetricId, before: number, { error, log, reach }: CellJudgement['change']) {
  const raw = rawChange(metric, log, reach);
  const after = before * (1 + raw.changePercent / 100);
  return { before, after, ...raw, margin: error > 0 ? Math.abs(log) / error : 1 };
}
