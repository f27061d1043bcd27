import { UsageError } from '../../errors.ts';
import { axisWords, namedAxis } from '../../records/axis.ts';
import { batchOf, type KeyedCell, PRECISIONS, byNumber } from '../../records/cell.ts';
import type { NamedShapes } from '../../records/plan.ts';
import { printable } from '../../text/printable.ts';
import { numberColumn, renderTable } from '../table.ts';
import { alignPoints, padStart, textWidth, wrapHanging, type Look, plain } from '../look.ts';
import { captionLines, optionList, precisionText, shapeText, tailOf } from '../cell-columns.ts';
import { isCalled, type Verdict } from '../../records/verdict.ts';
import { formatPercent } from '../numbers.ts';
import { VERDICT_LOOKS, verdictWord } from '../words.ts';

/** A tile of a map. Its shade shows the number; color is only an aid. */
export interface Tile {
  readonly cell: KeyedCell;
  readonly sign: string;
  readonly number: string;
  readonly style: (text: string) => string;
}

/** Columns of a terminal between two columns of a table. */
const GAP = 2;

const SHADES = ['░', '▒', '▓', '█'];

/** @param share from 0 (light) to 1 (dark) */
export function shadeOf(share: number): string {
  const level = Math.max(0, Math.min(SHADES.length - 1, Math.floor(share * SHADES.length)));
  return SHADES[level] ?? '█';
}

export type MapAxes = readonly [MapAxis, MapAxis];

interface MapAxis {
  readonly name: string;
  readonly textOf: (cell: KeyedCell) => string;
  /** Order of cells whose texts are numbers; equal for all cells to sort them by text. */
  readonly rankOf?: (cell: KeyedCell) => number;
  readonly without: (cell: KeyedCell) => KeyedCell;
}

const AXES: readonly MapAxis[] = [
  { name: 'model', textOf: ({ model }) => model, without: (cell) => ({ ...cell, model: '' }) },
  { name: 'precision', textOf: (cell) => precisionText(cell), rankOf: rankOfPrecision, without: (cell) => cell },
  {
    name: 'batch',
    textOf: (cell) => shapeText(cell, tailOf(cell) || null),
    rankOf: ({ shapes }) => batchOf(shapes) ?? 0,
    without: (cell) => (tailOf(cell) === '' ? { ...cell, shapes: {} } : withOpen(cell, (place) => place === 0)),
  },
  {
    name: 'streams',
    textOf: ({ streams }) => `streams ${streams}`,
    rankOf: ({ streams }) => streams,
    without: (cell) => ({ ...cell, streams: 1 }),
  },
  ...(['cudaGraph', 'dataTransfers', 'spinWait'] as const).map((name): MapAxis => ({
    name,
    textOf: (cell) => `${name} ${cell[name] === null ? '–' : cell[name] ? 'on' : 'off'}`,
    without: (cell) => ({ ...cell, [name]: name === 'spinWait' ? true : null }),
  })),
];

/** The size of a dimension that is an axis, in titles. */
const OPEN = -1;

function withOpen(cell: KeyedCell, isOpen: (place: number, input: string) => boolean): KeyedCell {
  const opened = Object.entries(cell.shapes).map(([input, dims]): [string, number[]] => {
    return [input, dims.map((size, place) => (isOpen(place, input) ? OPEN : size))];
  });
  return { ...cell, shapes: Object.fromEntries(opened) };
}

/** A dimension that the matrix names. */
function dimensionAxis(name: string, namedShapes: ReadonlyMap<string, NamedShapes>): MapAxis {
  const namesOf = ({ key }: KeyedCell): NamedShapes => namedShapes.get(key) ?? {};
  const sizeOf = (cell: KeyedCell): number | undefined =>
    Object.entries(namesOf(cell)).flatMap(([input, dims]) => cell.shapes[input]?.[dims.indexOf(name)] ?? [])[0];
  return {
    name,
    textOf: (cell) => `${name} ${sizeOf(cell) ?? '–'}`,
    rankOf: (cell) => sizeOf(cell) ?? 0,
    without: (cell) => withOpen(cell, (place, input) => namesOf(cell)[input]?.[place] === name),
  };
}

/** Shows the word of a named axis, or the value of an option or variable; a dash if the cell has none. */
function axisNamed(name: string): MapAxis {
  const own = namedAxis(name);
  const flags: readonly string[] = own?.flags ?? [name];
  const wordOf = ({ axisFlags }: KeyedCell): string =>
    axisWords(axisFlags).find((one) => one.name === name)?.word ?? own?.byDefault ?? '–';
  const othersOf = ({ axisFlags }: KeyedCell) => Object.entries(axisFlags).filter(([flag]) => !flags.includes(flag));
  return (
    AXES.find((axis) => axis.name === name) ?? {
      name,
      textOf: (cell) => `${name} ${wordOf(cell) || 'on'}`,
      without: (cell) => ({ ...cell, axisFlags: Object.fromEntries(othersOf(cell)) }),
    }
  );
}

const BY_DEFAULT: MapAxes = [axisNamed('precision'), axisNamed('batch')];

/**
 * Two axes such as `streams,batch`; by default precision and batch.
 * @throws UsageError with the axes that the cells have
 */
export function mapAxes(
  text: string | true,
  cells: readonly { readonly cell: KeyedCell }[],
  namedShapes: ReadonlyMap<string, NamedShapes>,
): MapAxes {
  if (text === true) return BY_DEFAULT;
  const ofFlags = cells.flatMap(({ cell: { axisFlags } }) => axisWords(axisFlags).map(({ name }) => name));
  const dimensions = [...namedShapes.values()]
    .flatMap((shapes) => Object.values(shapes).flat())
    .filter((dimension) => typeof dimension === 'string');
  const known = [...new Set([...AXES.map(({ name }) => name), ...ofFlags, ...dimensions])];
  const [down = '', across = '', ...more] = text.split(',').map((name) => name.trim());
  if (known.includes(down) && known.includes(across) && down !== across && more.length === 0) {
    // Next to another dimension, the batch is no longer the whole shape.
    const isOfShape = [down, across].some((name) => name !== 'batch' && dimensions.includes(name));
    const axisOf = (name: string): MapAxis =>
      isOfShape && dimensions.includes(name) ? dimensionAxis(name, namedShapes) : axisNamed(name);
    return [axisOf(down), axisOf(across)];
  }
  const wrong = [down, across].find((name) => name !== '' && !known.includes(name));
  const problem = wrong === undefined ? 'name two axes, such as streams,batch' : `no axis ${printable(wrong)}`;
  throw new UsageError(`--map ${printable(text)}: ${problem}; there are ${known.map(printable).join(', ')}`);
}

/** Maps of cells by two axes, one for each set of the other values. Columns that do not fit follow below. */
export function heatMaps(tiles: readonly Tile[], look: Look, axes: MapAxes = BY_DEFAULT): string[] {
  const maps = [...Map.groupBy(tiles, ({ cell }) => titleOf(cell, axes))].toSorted(([a], [b]) => byNumber(a, b));
  return maps.flatMap(([title, group], place) => [
    ...(place === 0 ? [] : ['']),
    ...(title === '' ? [] : wrapHanging(title, look.columns, 2).map(look.style.strong)),
    ...heatMap(group, look, axes),
  ]);
}

const IN_SHAPE = new RegExp(`(?<![^x:])${OPEN}(?![^x ])`, 'g');

/** The cell without the two axes, as a title. */
function titleOf(whole: KeyedCell, [down, across]: MapAxes): string {
  const isAxis = (name: string): boolean => down.name === name || across.name === name;
  const cell = down.without(across.without(whole));
  const shape = shapeText(cell, null).replaceAll(IN_SHAPE, '…');
  const options = optionList(cell).filter((word) => !isAxis('cudaGraph') || word !== 'options unknown');
  const parts = [cell.model, isAxis('precision') ? '' : precisionText(cell), shape, ...options];
  return printable(parts.filter((part) => part !== '').join(' '));
}

function rankOfPrecision({ precision }: KeyedCell): number {
  return precision === 'unstated' ? PRECISIONS.length : PRECISIONS.indexOf(precision);
}

/** Tiles by their printable text on an axis, in its order. */
function along(tiles: readonly Tile[], { rankOf = () => 0, textOf }: MapAxis): Map<string, Tile[]> {
  const inOrder = tiles.toSorted(({ cell: a }, { cell: b }) => rankOf(a) - rankOf(b) || byNumber(textOf(a), textOf(b)));
  return Map.groupBy(inOrder, ({ cell }) => printable(textOf(cell)));
}

function heatMap(tiles: readonly Tile[], look: Look, [down, across]: MapAxes): string[] {
  const rows = [...along(tiles, down)].map(([name, own]) => ({ name, own }));
  type Row = (typeof rows)[number];
  const columns = [...along(tiles, across)].map(([header, group]) => {
    const numbers = alignPoints(group.map(({ number }) => number));
    const widest = Math.max(...numbers.map(textWidth));
    const texts = new Map(group.map((tile, at) => [tile, `${tile.sign} ${padStart(numbers[at] ?? '', widest)}`]));
    const tileOf = ({ own }: Row) => own.find((tile) => texts.has(tile));
    const text = ({ own }: Row): string => own.flatMap((tile) => texts.get(tile) ?? []).at(0) ?? '';
    return numberColumn(header, text, 0, { style: (row) => tileOf(row)?.style ?? plain });
  });
  const name = { header: '', text: (row: Row) => row.name };
  const widthOf = ({ header, text }: typeof name): number =>
    Math.max(textWidth(header), ...rows.map((row) => textWidth(text(row)))) + GAP;
  const blocks: (typeof columns)[] = [];
  let left = 0;
  for (const column of columns) {
    left -= widthOf(column);
    if (left < 0 || blocks.length === 0) {
      blocks.push([]);
      left = look.columns + GAP - widthOf(name) - widthOf(column);
    }
    blocks.at(-1)?.push(column);
  }
  return blocks.flatMap((block) => renderTable([name, ...block], rows, look));
}

interface ChangedCell {
  readonly cell: KeyedCell;
  readonly verdict: Verdict;
  readonly changePercent: number | null;
}

/** Changes of this size and more are the darkest. */
const DARKEST_PERCENT = 20;

/** Map of changes by two axes: sign and number show the verdict, the shade its size. */
export function changeMap(cells: readonly ChangedCell[], look: Look, axes?: MapAxes): string[] {
  const tiles = cells.map(({ cell, changePercent, verdict }) => {
    const [sign, style] = VERDICT_LOOKS[verdict];
    const shade = isCalled({ verdict }) ? shadeOf(Math.abs(changePercent ?? 0) / DARKEST_PERCENT) : ' ';
    return { cell, sign: `${sign}${shade}`, number: formatPercent(changePercent), style: look.style[style] };
  });
  const seen = [...new Set(cells.map(({ verdict }) => verdict))];
  const legend = seen.map((verdict) => `${VERDICT_LOOKS[verdict][0]} ${verdictWord(verdict)}`);
  if (cells.some(isCalled)) legend.push('by less than ░ 5 %, ▒ 10 %, ▓ 15 %, █ more');
  return [...heatMaps(tiles, look, axes), ...captionLines(legend.join(', '), look)];
}
