import { parse } from 'csv-parse/sync';

import { SeriesFormatError, type SeriesRecord } from './records.ts';

const ID_COLUMN = /^(?:id|series|cell|name|benchmark|test)$/i;
const TIME_COLUMN = /^(?:time|timestamp|date|night|index|commit|sha|revision|build|run)$/i;
/** Columns that belong to the value beside them. */
const FACT_COLUMNS = ['spread', 'count', 'clock'] as const;

type Row = Readonly<Record<string, string>>;

/**
 * CSV, with or without a header, comments with `#`. A row is a night, in order; an empty field or NaN is a night without a value. Every
 * column of numbers is a history of its own; with a column `id` (or series, cell, name ...) the rows of each id are.
 * @param fallbackId of a history when nothing names it
 * @throws SeriesFormatError
 */
export function readSeriesCsv(text: string, fallbackId: string): SeriesRecord[] {
  const rows = readRows(text);
  const columns = Object.keys(rows[0] ?? {});
  const idColumn = columns.find((column) => ID_COLUMN.test(column));
  const facts = FACT_COLUMNS.filter((name) => columns.includes(name));
  const values = columns.filter(
    (column) =>
      column !== idColumn &&
      !TIME_COLUMN.test(column) &&
      !facts.some((name) => name === column) &&
      rows.every((row) => isNumber(row[column])),
  );
  if (values.length === 0) throw new SeriesFormatError(1, 'no column holds numbers');
  const groups = Map.groupBy(rows, (row) => (idColumn === undefined ? '' : (row[idColumn] ?? '')));
  return [...groups].flatMap(([group, members]) =>
    values.map((column): SeriesRecord => ({
      id: [group, values.length > 1 ? column : ''].filter(Boolean).join('/') || fallbackId,
      values: members.map((row) => numberIn(row, column)),
      ...Object.fromEntries(facts.map((name) => [name, members.map((row) => numberIn(row, name))])),
    })),
  );
}

function readRows(text: string): Row[] {
  const [first = [], ...others] = readTable(text);
  // A header has no numbers in it: a first row that has is a night already, and columns go by their place.
  const isNight = first.some((field) => field !== '' && Number.isFinite(Number(field)));
  const names = isNight ? first.map((_, place) => `column ${place + 1}`) : first;
  return (isNight ? [first, ...others] : others).map((fields) =>
    Object.fromEntries(names.map((name, place) => [name, fields[place] ?? ''])),
  );
}

function readTable(text: string): string[][] {
  try {
    const table: string[][] = parse(text, {
      comment: '#',
      comment_no_infix: true,
      trim: true,
      skip_empty_lines: true,
      bom: true,
    });
    return table;
  } catch (error) {
    const line = error instanceof Error && 'lines' in error ? Number(error.lines) : 1;
    throw new SeriesFormatError(line, error instanceof Error ? error.message : 'not CSV');
  }
}

const MISSING = /^(?:|nan|null|na|none|-)$/i;

/** A benchmark's value is positive. */
function isNumber(field: string | undefined): boolean {
  return field === undefined || MISSING.test(field) || Number(field) > 0;
}

function numberIn(row: Row, column: string): number | null {
  const field = row[column] ?? '';
  return MISSING.test(field) ? null : Number(field);
}
