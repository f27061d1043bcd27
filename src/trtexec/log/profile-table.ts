import type { LayerProfile, LayerTime } from './parsed-log.ts';
import { NUMBER, parseStreamNumber } from './printed-values.ts';

export interface ProfileDraft {
  readonly iterations: number;
  /** Null until the column heading was seen. */
  layout: 'name-last' | 'name-first-median' | 'name-first' | null;
  readonly layers: LayerTime[];
  /** Of the last row, which is no layer; null before it. */
  total: Omit<LayerTime, 'index'> | null;
}

const HEADING = /^=== Profile \((\d+) iterations ?\) ===/;
const NAME_LAST = new RegExp(`^ *(${NUMBER}) +(${NUMBER}) +(${NUMBER}) +(${NUMBER}) {3}(.*)$`);
const NAME_FIRST_MEDIAN = new RegExp(`^ *(.*?) +(${NUMBER}) +(${NUMBER}) +(${NUMBER}) +(${NUMBER})$`);
const NAME_FIRST = new RegExp(`^ *(.*?) +(${NUMBER}) +(${NUMBER}) +(${NUMBER})$`);

/** Starts a table at its heading; null for any other text. */
export function startProfileTable(text: string): ProfileDraft | null {
  const match = HEADING.exec(text);
  if (match === null) return null;
  return { iterations: Number(match[1]), layout: null, layers: [], total: null };
}

/**
 * Takes one line of the printed table. The layout is told by the column heading: name last from 8.6.1 on, name first
 * with a median (8.4, 8.5) or without (up to 8.2). False when the table is over.
 */
export function readProfileLine(draft: ProfileDraft, text: string): boolean {
  if (draft.total !== null) return false;
  if (draft.layout === null) {
    draft.layout = layoutOf(text);
    return true;
  }
  const row = rowOf(draft.layout, text);
  if (row === null) return true;
  if (row.name === 'Total') draft.total = row;
  else draft.layers.push({ index: draft.layers.length, ...row });
  return true;
}

function layoutOf(heading: string): ProfileDraft['layout'] {
  if (!heading.includes('Layer')) return null;
  if (/Layer\s*$/.test(heading)) return 'name-last';
  return heading.includes('Median') ? 'name-first-median' : 'name-first';
}

function rowOf(layout: NonNullable<ProfileDraft['layout']>, text: string): Omit<LayerTime, 'index'> | null {
  if (layout === 'name-last') {
    const match = NAME_LAST.exec(text);
    return match === null ? null : rowFrom(match[5], match[1], match[2], match[3], match[4]);
  }
  if (layout === 'name-first-median') {
    const match = NAME_FIRST_MEDIAN.exec(text);
    return match === null ? null : rowFrom(match[1], match[2], match[3], match[4], match[5]);
  }
  const match = NAME_FIRST.exec(text);
  return match === null ? null : rowFrom(match[1], match[2], match[3], undefined, match[4]);
}

function rowFrom(
  name: string | undefined,
  time: string | undefined,
  average: string | undefined,
  median: string | undefined,
  percentage: string | undefined,
): Omit<LayerTime, 'index'> {
  return {
    name: name ?? '',
    timeMs: parseStreamNumber(time ?? ''),
    averageMs: parseStreamNumber(average ?? ''),
    medianMs: median === undefined ? null : parseStreamNumber(median),
    percentage: parseStreamNumber(percentage ?? ''),
  };
}

/** Rows are rounded to four digits after the point: a sum this far below the total lacks some. */
const LEAST_LISTED = 0.98;

export function finishProfile(draft: ProfileDraft | null): LayerProfile | null {
  if (draft === null || draft.layers.length === 0) return null;
  const { iterations, layers, total } = draft;
  const sumMs = layers.reduce((sum, { averageMs }) => sum + averageMs, 0);
  const isExcerpt = total !== null && sumMs < total.averageMs * LEAST_LISTED;
  return { iterations, layers, ...(isExcerpt ? { totalMs: total.averageMs } : {}) };
}
