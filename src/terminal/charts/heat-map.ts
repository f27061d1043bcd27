import { batchOf, type Cell, PRECISIONS } from '../../records/cell.ts';
import { printable } from '../../text/printable.ts';
import { alignPoints } from './align-points.ts';
import { optionList, precisionText, shapeText, tailOf } from '../cell-columns.ts';
import type { Look } from '../look.ts';
import { padEnd, padStart, textWidth, truncate, wrapHanging } from '../text-width.ts';

/** One cell on the map: its shade is a picture of its number, and colour only a help. */
export interface Tile {
  readonly cell: Cell;
  /** A sign of one column, or a shade from `shadeOf`. */
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
 * beside each other follow below.
 */
export function heatMaps(tiles: readonly Tile[], look: Look): string[] {
  const maps = Map.groupBy(tiles, ({ cell }) => titleOf(cell));
  const collator = new Intl.Collator('en', { numeric: true });
  const sorted = [...maps].toSorted(([a], [b]) => collator.compare(a, b));
  return sorted.flatMap(([title, alike], place) => [
    ...(place === 0 ? [] : ['']),
    ...wrapHanging(title, look.columns, 2).map(look.style.strong),
    ...heatMap(alike, look),
  ]);
}

/** What a map is of: all that is neither its precision nor its batch. */
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
  const columns = [...byColumn].map(([header, alike]): MapColumn => {
    const found = rows.map((row) => alike.find(({ cell }) => precisionText(cell) === row) ?? null);
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

/** As many columns beside each other as there is room for. */
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
