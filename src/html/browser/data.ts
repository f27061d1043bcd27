import { columnValues, fromRunLengths } from '../columns.ts';
import type { ReportNight } from '../cell-data.ts';
import type { PageCell, PageData } from '../page-types.ts';
import { byId } from './dom.ts';

export function readPageData(): PageData {
  const data: PageData = JSON.parse(byId('data')?.textContent ?? '');
  return data;
}

const known = new WeakMap<PageCell, readonly (ReportNight | null)[]>();

export function nightsOf(cell: PageCell): readonly (ReportNight | null)[] {
  const found = known.get(cell) ?? decode(cell);
  known.set(cell, found);
  return found;
}

function decode(cell: PageCell): (ReportNight | null)[] {
  const { decimals } = cell.values;
  const below = columnValues({ decimals, integers: cell.below });
  const above = columnValues({ decimals, integers: cell.above });
  const runs = fromRunLengths(cell.runs);
  const environments = fromRunLengths(cell.environments);
  return columnValues(cell.values).map((value, night) =>
    value === null
      ? null
      : {
          value,
          least: value - (below[night] ?? 0),
          most: value + (above[night] ?? 0),
          runs: runs[night] ?? 0,
          environment: environments[night] ?? null,
        },
  );
}

export function nightName({ sweeps }: PageData, night: number): string {
  return sweeps.starts[night] || `sweep ${sweeps.ids[night]?.slice(0, 8) ?? ''}`;
}
