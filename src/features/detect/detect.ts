import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Io } from '../../cli/io.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';
import { type CellHistory, isBuildLuck } from '../../judge/history/noise.ts';
import {
  type ChangePoint,
  directionOf,
  findChangePoints,
  lastingChanges,
} from '../../judge/history/lasting-changes.ts';
import { readingProblem } from '../../selection/find-runs.ts';
import { printable } from '../../text/printable.ts';
import { percentOfLog } from '../../statistics/special-functions.ts';
import { runCentre } from '../../trtexec/log/derived.ts';
import type { DetectOptions } from './command.ts';
import {
  type AbRecord,
  readAbJson,
  readJson,
  readSeriesCsv,
  readSeriesJson,
  SeriesFormatError,
  type SeriesRecord,
} from './series-file.ts';
import * as z from 'zod';
import { MatrixJudge } from '../../judge/sweep/matrix-judge.ts';

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
    const judge = new MatrixJudge(cells.map(({ precision }) => (precision ? [precision] : [])));
    const sweeps = Math.max(...cells.map((cell) => cell.sweeps.length));
    for (let place = 0; place < sweeps; place += 1) {
      const judgements = judge.step(cells.map((cell) => cell.sweeps[place] ?? null));
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
    else if (options.ab === true) compareAll(readAbJson(text), options, io);
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
      group.map(({ id, a, b, past }) => ({
        cellKey: id,
        base: a.map(runCentre),
        head: b.map(runCentre),
        past,
        betterIs: better,
      })),
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
