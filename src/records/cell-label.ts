import type { Cell, KeyedCell } from './cell.ts';
import { isColdStart } from './harness.ts';
import { compareTexts } from '../text/canonical-json.ts';
import { flagWords } from './axis.ts';
import { type MetricId, metricOf } from './metric.ts';

/**
 * A cell in one line: `vit_small fp16 8x3x224x224 graph`. Omits defaults that are on. Not safe to print, because names
 * are untrusted.
 */
export function cellLabel(cell: Cell): string {
  const { axisFlags, model, precision, precisionVia } = cell;
  const shapes = Object.entries(cell.shapes);
  const onlyShape = shapes.length === 1 ? shapes[0]?.[1].join('x') : undefined;
  const shape = onlyShape ?? shapes.map(([input, dims]) => `${input}:${dims.join('x')}`).join(',');
  const network = [model, precision === 'unstated' ? '' : precision, precisionVia === 'flag' ? '(flag)' : '', shape];
  const words = [...network, ...optionWords(cell), ...flagWords(axisFlags), harnessWords(cell)];
  return words.filter((word) => word !== '').join(' ');
}

/** The precision in tables; empty for a program of another kind without one. */
export const precisionName = ({ harness, precision }: Cell): string =>
  precision !== 'unstated' ? precision : harness === undefined ? 'unknown' : '';

/** Label of a stored cell; else the start of its key. */
export function labelIn(cells: ReadonlyMap<string, Cell>, key: string): string {
  const cell = cells.get(key);
  return cell === undefined ? key.slice(0, 8) : cellLabel(cell);
}

/** Text whose order is that of its numbers: batch 8 before batch 32. */
const padded = (text: string): string => text.toLowerCase().replaceAll(/\d+/g, (digits) => digits.padStart(12, '0'));

export const byNumber = (a: string, b: string): number => compareTexts(padded(a), padded(b));

/** Sorts by label, with numbers by value. */
export function inLabelOrder(cells: readonly KeyedCell[]): KeyedCell[] {
  return cells
    .map((cell) => ({ cell, label: padded(cellLabel(cell)) }))
    .toSorted((a, b) => compareTexts(a.label, b.label) || (a.cell.key < b.cell.key ? -1 : 1))
    .map(({ cell }) => cell);
}

/** The cell and metric of a row in an output. */
export function aboutCell(cell: KeyedCell, metric: MetricId) {
  return { key: cell.key, label: cellLabel(cell), metric, unit: metricOf(metric).unit };
}

/** Words for graph, transfers, spin wait, streams and inputs, if they differ from the usual. */
export function optionWords(cell: Cell): string[] {
  return [
    graphWords(cell),
    cell.dataTransfers === true ? 'transfers' : '',
    cell.spinWait === false ? 'no-spin' : '',
    cell.streams === 1 ? '' : `streams=${cell.streams}`,
    cell.inputs.kind === 'files' ? 'inputs' : '',
  ].filter((word) => word !== '');
}

function graphWords({ cudaGraph, harness }: Cell): string {
  if (cudaGraph === null) return 'options unknown';
  return cudaGraph ? 'graph' : harness === undefined ? 'no-graph' : '';
}

/** `by command/wall`: a harness other than trtexec, and its timer if known; empty for trtexec. */
export function harnessWords({ harness }: Cell): string {
  if (harness === undefined) return '';
  if (isColdStart({ harness })) return harness.name;
  return harness.timer === 'unknown' ? `by ${harness.name}` : `by ${harness.name}/${harness.timer}`;
}

export function cellDifference(a: Cell, b: Cell): string {
  const [was, is] = [cellLabel(a).split(' '), cellLabel(b).split(' ')];
  const gone = was.filter((word) => !is.includes(word)).join(' ');
  const come = is.filter((word) => !was.includes(word)).join(' ');
  return gone === '' && come === '' ? '' : `${gone || 'none'} → ${come || 'none'}`;
}
