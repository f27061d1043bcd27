import type { PageCell, PageData, PageNight, ReportNight } from '../page-types.ts';
import { byId } from './dom.ts';

export function readPageData(): PageData {
  const data: PageData = JSON.parse(byId('data')?.textContent ?? '');
  return data;
}

const known = new WeakMap<PageCell, readonly (ReportNight | null)[]>();

export function nightsOf(cell: PageCell): readonly (ReportNight | null)[] {
  const found = known.get(cell) ?? cell.nights.map((night) => (night === null ? null : nightFrom(night)));
  known.set(cell, found);
  return found;
}

function nightFrom([value, least, most, runs, environment]: PageNight): ReportNight {
  return { value, least, most, runs, environment };
}

export function nightName({ sweeps }: PageData, night: number): string {
  return sweeps.starts[night] || `sweep ${sweeps.ids[night]?.slice(0, 8) ?? ''}`;
}
