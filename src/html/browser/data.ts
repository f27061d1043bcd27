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

/** In percent of the median of its sweeps. */
export function inPercent(cell: PageCell): PageCell {
  const sorted = cell.values.flatMap((sweep) => (sweep === null ? [] : [sweep[0]])).toSorted((a, b) => a - b);
  const factor = 100 / (sorted[sorted.length >> 1] || 1);
  const values = cell.values.map((sweep): PageCell['values'][number] => {
    if (sweep === null) return null;
    const [value, least, most, runs, environment] = sweep;
    return [value * factor, least * factor, most * factor, runs, environment];
  });
  return { ...cell, unit: '% of level', values };
}

export function sweepName({ sweeps }: PageData, sweep: number): string {
  return sweeps.starts[sweep] || `sweep ${sweeps.ids[sweep]?.slice(0, 8) ?? ''}`;
}
