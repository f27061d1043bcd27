import type { KeyedCell } from '../../records/cell.ts';
import type { Finding } from '../../records/finding.ts';
import { type GatedMetricId, gatedMetricOf, isJudgedOnly } from '../../records/gated-metric.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { directionOf } from '../history/change-points.ts';
import type { CellEvidence, MetricHistory, PairResult } from './evidence.ts';

export type Direction = Finding['direction'];

type FindingCell = Finding['cells'][number];

/** A metric of a cell that moved. */
export interface CellChange extends FindingCell {
  readonly cell: KeyedCell;
  readonly direction: Direction;
  /** Places of the first sweep at the new level, and of the last one at the old one (null: unknown). */
  readonly place: number;
  readonly lastGood: number | null;
  readonly lasts: Finding['lasts'];
  readonly pairs: PairResult | null;
  /** It began with another build of the same sources. */
  readonly isBuildLuck: boolean;
}

/** By which a cell is compared and shown. */
export function mainOf({ metrics: [main] }: CellEvidence): MetricHistory | undefined {
  return main;
}

interface Levels {
  readonly before: number;
  readonly after: number;
}

/** In percent of the value before; of shares in percent the difference in points. */
export function changePercentOf(metric: GatedMetricId, { before, after }: Levels): number {
  if (isJudgedOnly(metric)) return after - before;
  return before === 0 ? 100 : percentOfLog(Math.log(after / before));
}

function directionOfMetric(metric: GatedMetricId, { before, after }: Levels): Direction {
  return directionOf(after - before, gatedMetricOf(metric).betterIs);
}

export function cellChange(
  cell: KeyedCell,
  metric: GatedMetricId,
  levels: Levels,
  facts: Pick<CellChange, 'place' | 'lastGood'> &
    Partial<Pick<CellChange, 'ciPercent' | 'isBuildLuck' | 'lasts' | 'margin' | 'pairs'>>,
): CellChange {
  return {
    cell,
    cellKey: cell.key,
    metric,
    direction: directionOfMetric(metric, levels),
    changePercent: changePercentOf(metric, levels),
    ciPercent: null,
    margin: 1,
    before: levels.before,
    after: levels.after,
    lasts: null,
    pairs: null,
    isBuildLuck: false,
    ...facts,
  };
}

/** How much of a change is there at a value: 1 all of it, 0 nothing. */
export function shareLeft(
  { after, before, metric }: Pick<FindingCell, 'after' | 'before' | 'metric'>,
  value: number,
): number {
  const isRelative = !isJudgedOnly(metric) && before > 0 && after > 0 && value > 0;
  return isRelative ? Math.log(value / before) / Math.log(after / before) : (value - before) / (after - before);
}

/** At least half of the change is there. */
export function isMostlyLeft(...args: Parameters<typeof shareLeft>): boolean {
  return shareLeft(...args) >= 0.5;
}
