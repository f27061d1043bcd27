import type { PageCell, PageData, PageValue, SweepValue } from '../page-types.ts';
import { byId } from './dom.ts';

export function readPageData(): PageData {
  const data: PageData = JSON.parse(byId('data')?.textContent ?? '');
  return data;
}

const known = new WeakMap<PageCell, readonly (SweepValue | null)[]>();

export function valuesOf(cell: PageCell): readonly (SweepValue | null)[] {
  const found = known.get(cell) ?? cell.values.map((sweep) => (sweep === null ? null : valueFrom(sweep)));
  known.set(cell, found);
  return found;
}

function valueFrom([value, least, most, runs, environment]: PageValue): SweepValue {
  return { value, least, most, runs, environment };
}

export function sweepName({ sweeps }: PageData, sweep: number): string {
  return sweeps.starts[sweep] || `sweep ${sweeps.ids[sweep]?.slice(0, 8) ?? ''}`;
}
