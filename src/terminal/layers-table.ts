import { printable } from '../text/printable.ts';
import type { JoinedLayer } from '../layers/layer-info.ts';
import type { Look } from './look.ts';
import { formatMs, formatPercent } from './numbers.ts';
import { renderTable } from './table.ts';

const SHOWN_LAYERS = 8;

/** The layers that take longest, and what is left of the rest; times are means per query. */
export function layersTable(layers: readonly JoinedLayer[], look: Look): string[] {
  const timed = layers.filter(({ averageMs }) => averageMs !== null);
  if (timed.length === 0) return [];
  const longestFirst = timed.toSorted((a, b) => (b.averageMs ?? 0) - (a.averageMs ?? 0));
  const totalMs = sumMs(timed);
  const rest = longestFirst.slice(SHOWN_LAYERS);
  const rows = longestFirst
    .slice(0, SHOWN_LAYERS)
    .map((layer) => ({ name: printable(layer.name), type: printable(layer.type ?? ''), ms: layer.averageMs ?? 0 }));
  if (rest.length > 0) rows.push({ name: `${rest.length} more`, type: '', ms: sumMs(rest) });
  return renderTable<(typeof rows)[number]>(
    [
      { header: 'mean', text: ({ ms }) => formatMs(ms), align: 'right' },
      { header: 'share', text: ({ ms }) => formatPercent((ms / totalMs) * 100, false), align: 'right' },
      { header: 'type', text: ({ type }) => type, dropRank: 1 },
      { header: `layer (of ${timed.length})`, text: ({ name }) => name, minWidth: 12 },
    ],
    rows,
    { ...look, columns: look.columns - 2 },
  ).map((line) => `  ${line}`);
}

function sumMs(layers: readonly JoinedLayer[]): number {
  return layers.reduce((sum, { averageMs }) => sum + (averageMs ?? 0), 0);
}
