import type { Markup } from '../../../html/markup.ts';
import { sparkline } from '../../../html/sparkline.ts';
import { scalePercent } from '../../../terminal/charts/sparkline.ts';
import { isChange, levelOf, ownRows, type Row } from './cell-rows.ts';
import type { ReportData } from './report-data.ts';

/** Larger changes are clipped and marked: next to them all others would be flat. */
const MOST_PERCENT = 10;

export interface CellSparks {
  /** Both ends of the scale, which all cells share, around the level of each. */
  readonly percent: number;
  readonly of: (row: Row) => Markup;
}

export function cellSparks(data: ReportData): CellSparks {
  const changes = [...ownRows(data).values()].filter(isChange).map(({ changePercent }) => changePercent);
  const percent = Math.min(MOST_PERCENT, scalePercent(changes));
  return {
    percent,
    of: (row) => {
      const values = row.report.values.map((sweep) => sweep?.value ?? null);
      return sparkline(values, { level: levelOf(row.report, row), percent });
    },
  };
}
