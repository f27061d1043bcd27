import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';

import { compareCells } from '../../judge/compare/compare-cells.ts';
import { findChangePoints } from '../../judge/history/change-points.ts';
import { replayNights } from '../../judge/history/nightly-alerts.ts';
import type { NightlyValues } from '../../judge/history/noise.ts';
import { UsageError } from '../../errors.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { printable } from '../../text/printable.ts';
import { runCentre } from '../../trtexec/run-centre.ts';
import { readSeriesCsv } from './csv.ts';
import { type AbRecord, readAbJson, readSeriesJson, SeriesFormatError, type SeriesRecord } from './records.ts';
import { comparedLine, seriesLine } from './text.ts';
import type { Io } from '../../cli/io.ts';
import { readingProblem } from '../../selection/reading-problem.ts';
import type { DetectOptions } from './command.ts';

/** `bench detect FILE`: the detectors on any series, or with `--ab` on pairs of samples. JSON lines out. */
export async function detect(path: string, options: DetectOptions, io: Io): Promise<ExitCode> {
  const text = await readText(path, io);
  try {
    if (options.ab === true) compareAll(readAbJson(text), options, io);
    else for (const record of readSeries(path, text)) printSeries(record, options, io);
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

/** By what stands in the file, not by its name: JSON begins with a bracket. */
function readSeries(path: string, text: string): SeriesRecord[] {
  const name = path === '-' ? 'series' : basename(path).replace(/\.\w+$/, '');
  return /^\s*[[{]/.test(text) ? readSeriesJson(text, name) : readSeriesCsv(text, name);
}

function printSeries(record: SeriesRecord, { better }: DetectOptions, io: Io): void {
  const history = nightlyValues(record);
  const changes = findChangePoints(history);
  const alerts = replayNights(history);
  io.out(`${seriesLine(record.id, changes, alerts, better)}\n`);
}

function nightlyValues({ values, spread, count, clock }: SeriesRecord): NightlyValues {
  const nights = values.flatMap((value, night) => (value === null ? [] : [night]));
  const take = (facts: readonly (number | null)[] | undefined): (number | null)[] =>
    nights.map((night) => facts?.[night] ?? null);
  return {
    nights,
    values: Float64Array.from(nights, (night) => values[night] ?? Number.NaN),
    spread: take(spread),
    count: take(count),
    clock: take(clock),
  };
}

/** Cells of a matrix are judged together, and printed in the order of the file. */
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
    for (const cell of cells) io.out(`${comparedLine(cell)}\n`);
  }
}
