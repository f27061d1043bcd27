import type { LayerProfile, LayerTime } from './parsed-log.ts';
import { NUMBER, parseStreamNumber } from './printed-values.ts';

export interface ProfileDraft {
  readonly iterations: number;
  /** Null before the column heading. */
  layout: RegExp | null;
  readonly layers: LayerTime[];
  /** The last row, which is not a layer; null before it. */
  total: Omit<LayerTime, 'index'> | null;
}

const HEADING = /^=== Profile \((\d+) iterations ?\) ===/;
const numbers = (...names: readonly string[]): string => names.map((name) => `(?<${name}>${NUMBER})`).join(' +');
const NAME_LAST = new RegExp(`^ *${numbers('time', 'average', 'median', 'percentage')} {3}(?<name>.*)$`);
const NAME_FIRST_MEDIAN = new RegExp(`^ *(?<name>.*?) +${numbers('time', 'average', 'median', 'percentage')}$`);
const NAME_FIRST = new RegExp(`^ *(?<name>.*?) +${numbers('time', 'average', 'percentage')}$`);

/** Starts a table at its heading; null for any other text. */
export function startProfileTable(text: string): ProfileDraft | null {
  const match = HEADING.exec(text);
  if (match === null) return null;
  return { iterations: Number(match[1]), layout: null, layers: [], total: null };
}

/**
 * Takes one line of the printed table. The layout is recognized by the column heading: name last from 8.6.1 on, name first
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

function layoutOf(heading: string): RegExp | null {
  if (!heading.includes('Layer')) return null;
  if (/Layer\s*$/.test(heading)) return NAME_LAST;
  return heading.includes('Median') ? NAME_FIRST_MEDIAN : NAME_FIRST;
}

function rowOf(layout: RegExp, text: string): Omit<LayerTime, 'index'> | null {
  const groups = layout.exec(text)?.groups;
  if (groups === undefined) return null;
  const number = (name: string): number => parseStreamNumber(groups[name] ?? '');
  return {
    name: groups['name'] ?? '',
    timeMs: number('time'),
    averageMs: number('average'),
    medianMs: groups['median'] === undefined ? null : number('median'),
    percentage: number('percentage'),
  };
}

/** Rows are rounded to four decimals: if their sum is this far below the total, some are missing. */
const LEAST_LISTED = 0.98;

export function finishProfile(draft: ProfileDraft | null): LayerProfile | null {
  if (draft === null || draft.layers.length === 0) return null;
  const { iterations, layers, total } = draft;
  const sumMs = layers.reduce((sum, { averageMs }) => sum + averageMs, 0);
  const isExcerpt = total !== null && sumMs < total.averageMs * LEAST_LISTED;
  if (!isExcerpt) return { iterations, layers };
  return { iterations, layers, total: { averageMs: total.averageMs, medianMs: total.medianMs } };
}
