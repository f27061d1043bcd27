import { parse } from 'csv-parse/sync';
import * as z from 'zod';

import type { Immutable } from '../../records/scalars.ts';

const positive = z.number().positive();
const nights = z.array(positive.nullable());
/** Null where unknown. */
const facts = z.array(z.number().nullable()).nullish();

/** The build that ran, and its sources. */
const ids = z.array(z.string().nullable()).nullish();

const seriesSchema = z.object({ id: z.coerce.string(), values: nights, clock: facts, build: ids, sources: ids });

/** One value per sweep, null for a sweep without one. */
export type SeriesRecord = Immutable<z.infer<typeof seriesSchema>>;

/** A run is a list of times, or one number that represents it. */
const run = z.union([positive.transform((value) => [value]), z.array(positive).min(1)]);

/** One cell measured on two sides; the cells of one matrix are judged together. */
const abSchema = z
  .object({
    id: z.coerce.string().optional(),
    cell: z.coerce.string().optional(),
    matrix: z.coerce.string().default(''),
    a: z.array(run).min(1),
    b: z.array(run).min(1),
    past: z.array(positive).nullish(),
  })
  .transform(({ id, cell, past, ...sides }) => ({ ...sides, id: id ?? cell ?? '', past: past ?? [] }));

export type AbRecord = Immutable<z.infer<typeof abSchema>>;

/** `line` is 1-based. */
export class SeriesFormatError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/**
 * JSON lines, one JSON array of histories, or one of plain numbers.
 * @param fallbackId id of an unnamed history
 * @throws SeriesFormatError
 */
export function readSeriesJson(text: string, fallbackId: string): SeriesRecord[] {
  const plain = /^\s*\[\s*(?:[-\d.]|null)/.test(text);
  return plain ? [checked({ id: fallbackId, values: parsed(text, 1) }, seriesSchema, 1)] : readJson(text, seriesSchema);
}

/** @throws SeriesFormatError */
export function readAbJson(text: string): AbRecord[] {
  return readJson(text, abSchema);
}

/** JSON lines or one JSON array, each record checked. @throws SeriesFormatError */
export function readJson<Record>(text: string, schema: z.ZodType<Record>): Record[] {
  if (text.trimStart().startsWith('[')) {
    const all = parsed(text, 1);
    return Array.isArray(all) ? all.map((record) => checked(record, schema, 1)) : [];
  }
  return text
    .split('\n')
    .map((line, index) => ({ line, number: index + 1 }))
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, number }) => checked(parsed(line, number), schema, number));
}

function parsed(text: string, line: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SeriesFormatError(line, error instanceof Error ? error.message : 'not JSON');
  }
}

function checked<Record>(record: unknown, schema: z.ZodType<Record>, line: number): Record {
  const result = schema.safeParse(record);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join('.') ?? '';
  throw new SeriesFormatError(line, `${path === '' ? '' : `${path}: `}${issue?.message ?? 'invalid'}`);
}

const ID_COLUMN = /^(?:id|series|cell|name|benchmark|test)$/i;
const TIME_COLUMN = /^(?:time|timestamp|date|night|index|commit|sha|revision|build|run)$/i;
/** Columns with facts about the value column. */
const FACT_COLUMNS = ['spread', 'count', 'clock'] as const;

type Row = Readonly<Record<string, string>>;

/**
 * CSV with or without a header; comments start with `#`. A row is a sweep, and an empty field or NaN has no value.
 * Every numeric column is a history. With a column `id` (or series, cell, name ...), the rows of each ID form a history
 * per numeric column.
 * @param fallbackId ID of an unnamed history
 * @throws SeriesFormatError
 */
export function readSeriesCsv(text: string, fallbackId: string): SeriesRecord[] {
  const rows = readRows(text);
  const columns = Object.keys(rows[0] ?? {});
  const idColumn = columns.find((column) => ID_COLUMN.test(column));
  const factColumns = FACT_COLUMNS.filter((name) => columns.includes(name));
  const values = columns.filter(
    (column) =>
      column !== idColumn &&
      !TIME_COLUMN.test(column) &&
      !factColumns.some((name) => name === column) &&
      rows.every((row) => (numberIn(row, column) ?? 1) > 0),
  );
  if (values.length === 0) throw new SeriesFormatError(1, 'no column holds numbers');
  const groups = Map.groupBy(rows, (row) => (idColumn === undefined ? '' : (row[idColumn] ?? '')));
  return [...groups].flatMap(([group, members]) =>
    values.map((column): SeriesRecord => ({
      id: [group, values.length > 1 ? column : ''].filter(Boolean).join('/') || fallbackId,
      values: members.map((row) => numberIn(row, column)),
      ...Object.fromEntries(factColumns.map((name) => [name, members.map((row) => numberIn(row, name))])),
    })),
  );
}

function readRows(text: string): Row[] {
  const [first = [], ...others] = readTable(text);
  // A header has no numbers. If the first row has numbers, it is data, and columns get names by position.
  const hasNumber = first.some((field) => field !== '' && Number.isFinite(Number(field)));
  const names = hasNumber ? first.map((_, place) => `column ${place + 1}`) : first;
  return (hasNumber ? [first, ...others] : others).map((fields) =>
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

function numberIn(row: Row, column: string): number | null {
  const field = row[column] ?? '';
  return MISSING.test(field) ? null : Number(field);
}
