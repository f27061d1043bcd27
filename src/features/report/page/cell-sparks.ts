import type { Markup } from '../../../html/markup.ts';
import { sparkline } from '../../../html/sparkline.ts';
import { scalePercent } from '../../../terminal/charts/sparkline.ts';
import type { MetricTable, ReportData } from './page-data.ts';

/** Larger changes are clipped and marked: next to them all others would be flat. */
const MOST_PERCENT = 10;

export interface CellSparks {
  /** Both ends of the scale, which all cells share, around the level of each. */
  readonly percent: number;
  readonly of: (cell: MetricTable['cells'][number]) => Markup;
}

export function cellSparks({ check, compare }: ReportData): CellSparks {
  const { cells, judgedBy } = check.series;
  // The value of one previous sweep is no level: then it is the median of what is shown.
  const judged = judgedBy === 'history' ? [...cells, ...check.findings.flatMap(({ details }) => details)] : [];
  const levels = new Map(judged.map(({ before, key, metric }) => [`${key} ${metric}`, before]));
  const moved = [
    ...cells.filter(({ status }) => status === 'slower' || status === 'faster'),
    ...(compare?.cells ?? []).filter(({ verdict }) => verdict === 'slower' || verdict === 'faster'),
  ];
  const percent = Math.min(MOST_PERCENT, scalePercent(moved.map(({ changePercent }) => changePercent)));
  return {
    percent,
    of: ({ cell: { key }, metric, values }) => {
      const level = levels.get(`${key} ${metric}`) ?? null;
      return sparkline(
        values.map((sweep) => sweep?.value ?? null),
        { level, percent },
      );
    },
  };
}
