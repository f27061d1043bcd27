import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';

import * as z from 'zod';
import { parse } from 'csv-parse/sync';

import type { Io } from '../../cli/io.ts';
import { UsageError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';
import { type CellHistory, isBuildLuck } from '../../judge/history/noise.ts';
import { directionOf, findChangePoints, lastingChanges } from '../../judge/history/lasting-changes.ts';
import type { ChangePoint } from '../../judge/history/lasting-changes.ts';
import { readingProblem } from '../../selection/find-runs.ts';
import { printable } from '../../text/printable.ts';
import { percentOfLog } from '../../statistics/special-functions.ts';
import { runCentre } from '../../trtexec/log/derived.ts';
import type { DetectOptions } from './command.ts';
import { matrixJudge } from '../../judge/sweep/matrix-judge.ts';
import type { Immutable } from '../../records/scalars.ts';

const recordSchema = z.object({
  matrix: z.string().default(''),
  id: z.coerce.string(),
  precision: z.string().nullish(),
  sweeps: z.array(z.array(z.number().positive()).nullable()),
});

/**
 * Detects what is new in each cell, sweep by sweep, with only the sweeps up to that one. All cells of a matrix are
 * judged together.
 */
function detectSweeps(text: string, io: Io): void {
  const records = readJson(text, recordSchema).map((record) => {
    const alarms: object[] = [];
    return { ...record, alarms };
  });
  for (const cells of Map.groupBy(records, ({ matrix }) => matrix).values()) {
    const judge = matrixJudge(cells.map(({ precision }) => (precision ? [precision] : [])));
    const sweeps = Math.max(...cells.map((cell) => cell.sweeps.length));
    for (let place = 0; place < sweeps; place += 1) {
      const judgements = judge(cells.map((cell) => cell.sweeps[place] ?? null));
      for (const [index, judgement] of judgements.entries()) {
        if (judgement === null || judgement.reported === null) continue;
        const { direction, change } = judgement.reported;
        cells[index]?.alarms.push({ at: place, direction, changePercent: rounded(percentOfLog(change.log)) });
      }
    }
  }
  for (const { id, alarms } of records) io.out(`${JSON.stringify({ id, alarms })}\n`);
}

export async function detect(path: string, options: DetectOptions, io: Io): Promise<ExitCode> {
  const text = await readText(path, io);
  try {
    if (options.sweeps === true) detectSweeps(text, io);
    else if (options.ab === true) compareAll(readJson(text, abSchema), options, io);
    else for (const record of readSeries(path, text)) io.out(`${seriesLine(record, options)}\n`);
  } catch (error) {
    if (!(error instanceof SeriesFormatError)) throw error;
    throw new UsageError(`${printable(path)}:${error.line}:1: ${printable(error.message)}`);
  }
  return EXIT_CODES.fine;
}

async function readText(path: string, io: Io): Promise<string> {
  if (path === '-') {
    const chunks: Buffer[] = [];
    for await (const chunk of io.stdin) chunks.push(chunk);
    return Buffer.concat(chunks).toString('utf8');
  }
  try {
    return await readFile(resolve(io.cwd, path), 'utf8');
  } catch (error) {
    throw new UsageError(`${printable(path)}: ${readingProblem(error)}`, { cause: error });
  }
}

/** Decides by the content rather than the file name: JSON begins with a bracket. */
function readSeries(path: string, text: string): SeriesRecord[] {
  const name = path === '-' ? 'series' : basename(path).replace(/\.\w+$/, '');
  return /^\s*[[{]/.test(text) ? readSeriesJson(text, name) : readSeriesCsv(text, name);
}

/**
 * One history. `alarms` uses the whole history; `nightly` uses only the past of each sweep. `index` is the first sweep
 * at the new level, and `night` the one in which it became known. `buildLuck` is not an alarm: a new build of the same
 * sources.
 */
function seriesLine(record: SeriesRecord, { better }: DetectOptions): string {
  const history = historyOf(record);
  const reported = ({ shift, margin }: ChangePoint) => ({
    direction: directionOf(shift, better),
    changePercent: rounded(percentOfLog(shift)),
    margin: rounded(margin),
  });
  const lasting = Map.groupBy(lastingChanges(history), (change) => change.isBuildLuck);
  const lineOf = (isLuck: boolean) =>
    (lasting.get(isLuck) ?? []).map((change) => {
      return { night: change.knownAt, index: change.place, ...reported(change) };
    });
  const luck = lineOf(true);
  return JSON.stringify({
    id: record.id,
    alarms: findChangePoints(history)
      .filter(({ index }) => !isBuildLuck(history, index))
      .map((change) => ({ index: change.place, ...reported(change) })),
    nightly: lineOf(false),
    ...(luck.length === 0 ? {} : { buildLuck: luck }),
  });
}

function historyOf({ values, clock, build, sources }: SeriesRecord): CellHistory {
  const places = values.flatMap((value, place) => (value === null ? [] : [place]));
  const ofSweeps = <Fact>(facts: readonly (Fact | null)[] | null | undefined) =>
    facts ? places.map((place) => facts[place] ?? null) : undefined;
  return {
    places,
    values: Float64Array.from(places, (place) => values[place] ?? Number.NaN),
    clock: ofSweeps(clock),
    builds: ofSweeps(build),
    sources: ofSweeps(sources),
  };
}

/** The cells of a matrix are judged together and printed in the order of the file. */
function compareAll(records: readonly AbRecord[], { better }: DetectOptions, io: Io): void {
  const groups = Map.groupBy(records, ({ matrix }) => matrix);
  for (const group of groups.values()) {
    const { cells } = compareCells(
      group.map(({ id, a, b, past }) => {
        return { cellKey: id, base: a.map(runCentre), head: b.map(runCentre), past, betterIs: better };
      }),
    );
    for (const { cellKey: id, verdict, ...cell } of cells) {
      const [changePercent, mdePercent] = [rounded(cell.changePercent), rounded(cell.mdePercent)];
      const ciPercent = cell.ciPercent?.map(rounded) ?? null;
      io.out(`${JSON.stringify({ id, verdict, changePercent, ciPercent, mdePercent })}\n`);
    }
  }
}

function rounded(value: number | null): number | null {
  return value === null ? null : Number(value.toPrecision(6));
}

const positive = z.number().positive();
const nights = z.array(positive.nullable());
/** Null where unknown. */
const facts = z.array(z.number().nullable()).nullish();

/** The build that ran, and its sources. */
const ids = z.array(z.string().nullable()).nullish();

const seriesSchema = z.object({ id: z.coerce.string(), values: nights, clock: facts, build: ids, sources: ids });

/** One value per sweep, null for a sweep without one. */
type SeriesRecord = Immutable<z.infer<typeof seriesSchema>>;

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

type AbRecord = Immutable<z.infer<typeof abSchema>>;

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
function readSeriesJson(text: string, fallbackId: string): SeriesRecord[] {
  const plain = /^\s*\[\s*(?:[-\d.]|null)/.test(text);
  return plain ? [checked({ id: fallbackId, values: parsed(text, 1) }, seriesSchema, 1)] : readJson(text, seriesSchema);
}

/** JSON lines or one JSON array, each record checked. @throws SeriesFormatError */
function readJson<Record>(text: string, schema: z.ZodType<Record>): Record[] {
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
