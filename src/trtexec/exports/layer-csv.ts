import { parse } from 'csv-parse/sync';

import type { RunExports } from '../run-facts.ts';
import { errorText, ExportFormatError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { tensorType } from './layer-info.ts';
import { summedProfile } from './trace-events.ts';

/**
 * The words of a header by the content of its column. Order matters: "time (%)" is a share, "data type" a precision.
 */
const COLUMNS = [
  ['share', /%|percent|share/i],
  ['precision', /precision|data ?type|dtype/i],
  ['inputs', /\bin(put)?s?\b.*(dim|shape)/i],
  ['outputs', /dim|shape/i],
  ['time', /time|duration|latency/i],
  ['type', /\btype\b|\bop(eration|erator)?\b/i],
  ['name', /name|\blayer\b/i],
] as const;

type Column = (typeof COLUMNS)[number][0];

const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, ms: 1, us: 1e-3, µs: 1e-3, μs: 1e-3, ns: 1e-6 };
const UNIT = /(?:^|[^a-z])(ms|us|\u00b5s|\u03bcs|ns|s)(?:[^a-z]|$)/i;

/** Whether the first line can be the header of a table of layers: names, times, and perhaps other columns. */
export function isLayerCsv(head: string): boolean {
  const places = columnsOf(head.split(/\r?\n/, 1)[0]?.split(/[,;\t]/) ?? []);
  return places.has('name') && places.has('time') && (places.has('type') || places.has('precision'));
}

/**
 * Parses a table of layers as CSV, such as a designer's network table. Each row is one layer with its time in one
 * query.
 * @throws ExportFormatError that names the line and the column
 */
export function parseLayerCsv(text: string): Pick<RunExports, 'profile' | 'layerInfo'> {
  const [header = [], ...rows] = rowsOf(text);
  const places = columnsOf(header);
  const cell = (row: readonly string[], column: Column): string => row[places.get(column) ?? -1] ?? '';
  const timeHeader = cell(header, 'time');
  const times = rows.map((row, index) => ({
    name: cell(row, 'name'),
    timeMs: timeMs(cell(row, 'time'), timeHeader, index + 2),
  }));
  const layers = rows.map((row, index) => ({
    index,
    name: cell(row, 'name'),
    type: cell(row, 'type') || null,
    tactic: null,
    inputs: tensor(cell(row, 'inputs'), cell(row, 'precision')),
    outputs: tensor(cell(row, 'outputs'), cell(row, 'precision')),
    origins: [],
  }));
  return { profile: summedProfile(times, 1), layerInfo: layers };
}

function rowsOf(text: string): string[][] {
  try {
    return parse(text, {
      trim: true,
      bom: true,
      skip_empty_lines: true,

      delimiter: [',', ';', '\t'],
    });
  } catch (error) {
    throw new ExportFormatError(`not CSV: ${errorText(error)}`);
  }
}

/** Other columns are ignored. */
function columnsOf(header: readonly string[]): ReadonlyMap<Column, number> {
  const places = new Map<Column, number>();
  for (const [place, title] of header.entries()) {
    const column = COLUMNS.find(([kind, words]) => words.test(title) && !places.has(kind))?.[0];
    if (column !== undefined) places.set(column, place);
  }
  return places;
}

/** The unit is in the field or in the header. */
function timeMs(field: string, header: string, line: number): number {
  const value = Number.parseFloat(field);
  const unit = UNIT.exec(field.replace(/^[\d.e+-]+/i, ' '))?.[1] ?? UNIT.exec(header)?.[1];
  if (unit === undefined)
    throw new ExportFormatError(`its times have no unit: write it in the header, as "${printable(header)} (ms)"`);
  if (!(value >= 0))
    throw new ExportFormatError(`line ${line}: ${printable(header)}: "${printable(field)}" is not a time`);
  return value * (UNITS_MS[unit.toLowerCase()] ?? 1);
}

function tensor(dimensions: string, precision: string) {
  return [
    {
      name: '',
      dimensions: (dimensions.match(/-?\d+/g) ?? []).map(Number),
      type: tensorType(precision || null),
      format: null,
    },
  ];
}
