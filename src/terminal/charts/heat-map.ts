import { batchOf, type Cell, PRECISIONS } from '../../records/cell.ts';
import { printable } from '../../text/printable.ts';
import { alignPoints, padEnd, padStart, textWidth, truncate, wrapHanging, wrapWords } from '../text-width.ts';
import { optionList, precisionText, shapeText, tailOf } from '../cell-columns.ts';
import type { Look } from '../look.ts';
import type { Verdict } from '../../records/verdict.ts';
import { formatPercent, formatNumber } from '../numbers.ts';
import { VERDICT_SIGNS, verdictStyle, verdictWord } from '../words.ts';
import { type MetricId, metricOf } from '../../records/metric.ts';

/** The shade shows the number; color is only an aid. */
export interface Tile {
  readonly cell: Cell;
  readonly sign: string;
  readonly number: string;
  readonly style: (text: string) => string;
}

const SHADES = ['░', '▒', '▓', '█'];
const GAP = '  ';

/** @param share from 0 (light) to 1 (dark) */
export function shadeOf(share: number): string {
  const level = Math.max(0, Math.min(SHADES.length - 1, Math.floor(share * SHADES.length)));
  return SHADES[level] ?? '█';
}

/**
 * Maps of cells by precision (down) and batch (across), one for each model and way to run it. Batches that do not fit
 * side by side follow below.
 */
export function heatMaps(tiles: readonly Tile[], look: Look): string[] {
  const maps = Map.groupBy(tiles, ({ cell }) => titleOf(cell));
  const collator = new Intl.Collator('en', { numeric: true });
  const sorted = [...maps].toSorted(([a], [b]) => collator.compare(a, b));
  return sorted.flatMap(([title, group], place) => [
    ...(place === 0 ? [] : ['']),
    ...wrapHanging(title, look.columns, 2).map(look.style.strong),
    ...heatMap(group, look),
  ]);
}

/** Everything but precision and batch. */
function titleOf(cell: Cell): string {
  const tail = tailOf(cell);
  const parts = [cell.model, tail === '' ? '' : `…x${tail}`, ...optionList(cell)];
  return printable(parts.filter((part) => part !== '').join(' '));
}

function rankOf({ precision }: Cell): number {
  return precision === 'unstated' ? PRECISIONS.length : PRECISIONS.indexOf(precision);
}

interface MapColumn {
  readonly header: string;
  readonly texts: readonly string[];
  readonly tiles: readonly (Tile | null)[];
  readonly width: number;
}

function heatMap(tiles: readonly Tile[], look: Look): string[] {
  const byPrecision = tiles.toSorted((a, b) => rankOf(a.cell) - rankOf(b.cell));
  const rows = [...new Set(byPrecision.map(({ cell }) => precisionText(cell)))];
  const sorted = tiles.toSorted((a, b) => (batchOf(a.cell.shapes) ?? 0) - (batchOf(b.cell.shapes) ?? 0));
  const byColumn = Map.groupBy(sorted, ({ cell }) => shapeText(cell, tailOf(cell) || null));
  const rowWidth = Math.max(...rows.map(textWidth));
  const columns = [...byColumn].map(([header, group]): MapColumn => {
    const found = rows.map((row) => group.find(({ cell }) => precisionText(cell) === row) ?? null);
    const numbers = alignPoints(found.map((tile) => tile?.number ?? ''));
    const widest = Math.max(...numbers.map(textWidth));
    const texts = found.map((tile, place) =>
      tile === null ? '' : `${tile.sign} ${padStart(numbers[place] ?? '', widest)}`,
    );
    const width = Math.max(...[printable(header), ...texts].map(textWidth));
    return { header: printable(header), texts, tiles: found, width };
  });
  const room = look.columns - GAP.length - rowWidth;
  return rowsOfColumns(columns, room).flatMap((block) => [
    look.style.dim(
      [' '.repeat(rowWidth), ...block.map(({ header, width }) => padStart(truncate(header, width), width))]
        .join(GAP)
        .trimEnd(),
    ),
    ...rows.map((row, place) => {
      const shown = block.map(({ texts, tiles: of, width }) => {
        const text = padStart(truncate(texts[place] ?? '', width), width);
        return of[place]?.style(text) ?? text;
      });
      return [padEnd(row, rowWidth), ...shown].join(GAP).trimEnd();
    }),
  ]);
}

/** As many columns side by side as there is room for. */
function rowsOfColumns(columns: readonly MapColumn[], room: number): MapColumn[][] {
  const blocks: MapColumn[][] = [];
  let used = Infinity;
  for (const column of columns) {
    const fitting = { ...column, width: Math.min(column.width, room - GAP.length) };
    const block = blocks.at(-1);
    if (block === undefined || used + GAP.length + fitting.width > room) {
      blocks.push([fitting]);
      used = fitting.width;
    } else {
      block.push(fitting);
      used += GAP.length + fitting.width;
    }
  }
  return blocks;
}

interface ChangedCell {
  readonly cell: Cell;
  readonly verdict: Verdict;
  readonly changePercent: number | null;
}

/** Changes of this size and more are the darkest. */
const DARKEST_PERCENT = 20;

/** Changes by precision and batch: sign and number show the verdict, the shade its size. */
export function changeMap(cells: readonly ChangedCell[], look: Look): string[] {
  const tiles = cells.map(({ cell, verdict, changePercent }) => ({
    cell,
    sign: `${VERDICT_SIGNS[verdict]}${isChange(verdict) ? shadeOf(Math.abs(changePercent ?? 0) / DARKEST_PERCENT) : ' '}`,
    number: formatPercent(changePercent),
    style: verdictStyle(verdict, look.style),
  }));
  const seen = [...new Set(cells.map(({ verdict }) => verdict))];
  const legend = seen.map((verdict) => `${VERDICT_SIGNS[verdict]} ${verdictWord(verdict)}`);
  if (seen.some(isChange)) legend.push('by less than ░ 5 %, ▒ 10 %, ▓ 15 %, █ more');
  return [...heatMaps(tiles, look), ...wrapWords(legend.join(', '), look.columns).map(look.style.dim)];
}

function isChange(verdict: Verdict): boolean {
  return verdict === 'slower' || verdict === 'faster';
}

export interface MappedCell {
  readonly cell: Cell;
  readonly metric: MetricId;
  readonly value: number | null;
}

/** With several streams they overlap. */
const OVERLAPPING: readonly MetricId[] = ['gpuComputeMs', 'latencyMs', 'p99Ms'];

/** Values by precision and batch: the larger, the darker. Each unit has a map of its own. */
export function valueMap(cells: readonly MappedCell[], look: Look): string[] {
  const maps = [...Map.groupBy(cells, ({ metric }) => metric)];
  return maps.flatMap(([metric, own], place) => [...(place === 0 ? [] : ['']), ...mapOf(metric, own, look)]);
}

function mapOf(metric: MetricId, cells: readonly MappedCell[], look: Look): string[] {
  const values = cells.flatMap(({ value }) => value ?? []);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  // Steps of equal ratio, where possible.
  const isRatio = low > 0;
  const shareOf = (value: number): number => {
    if (!(high > low)) return 0;
    return isRatio ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  };
  const tiles = cells.map(({ cell, value }) => ({
    cell,
    sign: value === null ? '✗' : shadeOf(shareOf(value)),
    number: `${isOverlapping(cell, metric) && value !== null ? '~' : ''}${formatNumber(value)}`,
    style: value === null ? look.style.bad : look.style.accent,
  }));
  const { label, unit } = metricOf(metric);
  const steps = isRatio ? ', in steps of the same ratio' : '';
  const ends = `░ from ${formatNumber(low)} to █ ${formatNumber(high)} ${unit}${steps}`;
  const scale = values.length === 0 ? '' : `: ${high > low ? ends : 'the same everywhere'}`;
  const lacks = metric === 'gpuComputeMs' ? 'measured run' : 'value';
  const missing = values.length < cells.length ? `; ✗ without a ${lacks}` : '';
  const legend = `median ${label}, ${unit}${scale}${missing}`;
  return [...heatMaps(tiles, look), ...wrapWords(legend, look.columns).map(look.style.dim)];
}

function isOverlapping({ streams }: Cell, metric: MetricId): boolean {
  return streams > 1 && OVERLAPPING.includes(metric);
}
