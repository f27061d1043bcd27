import type {
  PageCell,
  PageData,
  PageDiff,
  PageLayers,
  PageValue,
  ReportLayer,
  ReportLayerChange,
  SweepValue,
} from '../page-types.ts';
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

/** In percent of the level at which a square of the map has no color. */
export function inPercent(cell: PageCell): PageCell {
  const factor = 100 / (cell.level ?? 100);
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

export function layersOf({ texts }: PageData, { rows }: PageLayers): ReportLayer[] {
  const text = (place = -1): string => texts[place] ?? '';
  return rows.map(([ms = 0, label, block, purpose, type, precision, tactic, peak, limit]) => ({
    ms,
    label: text(label),
    block: text(block),
    purpose: text(purpose),
    type: text(type),
    precision: text(precision),
    tactic: text(tactic),
    peak: text(peak),
    limit: text(limit),
  }));
}

export function changesOf({ texts }: PageData, { rows }: PageDiff): ReportLayerChange[] {
  const text = (place = -1): string => texts[place] ?? '';
  return rows.map(([baseMs = 0, headMs = 0, before = 0, after = 0, label, change, detail]) => ({
    baseMs,
    headMs,
    layers: [before, after],
    label: text(label),
    change: text(change),
    detail: text(detail),
  }));
}
