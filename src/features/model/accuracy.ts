import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

import { VariantCache } from '../../variants/variant-cache.ts';
import { type AccuracyDrop, type AccuracyRecord, accuracyDrop, sameAccuracyHistory } from '../../records/accuracy.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { ensure, UsageError, EXIT_CODES, type ExitCode } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import type { AccuracyOutput, AccuracyRow, ComparedRow } from './output.ts';
import { type Look, truncate } from '../../terminal/look.ts';
import { formatDecibels, formatNumber } from '../../terminal/numbers.ts';
import { type Column, numberColumn, renderTable } from '../../terminal/table.ts';
import { accuracyHistory, saveAccuracy } from '../../store/runs/model-accuracies.ts';
import { newestOfMatrix } from '../../store/sweeps/find-sweeps.ts';
import { openStore } from '../../store/file/open.ts';
import { comparePair, filesOfCells, isExport, pairsOfMatrix, type AccuracyPair } from './compare-pair.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { filterCells, readMatrix } from '../plan/index.ts';
import { migrationsFolder, storePath } from '../../cli/store-location.ts';
import { pythonOf } from '../../tools/python/helper.ts';
import { warnIfMigrated, usingStore } from '../../cli/with-store.ts';
import type { AccuracyOptions } from './command.ts';

/**
 * `bench model accuracy MATRIX`, or `REFERENCE.onnx VARIANT.onnx`. Stores results with a model and a precision. A drop
 * beyond the limit is a regression.
 */
export async function compareAccuracy(
  first: string,
  words: readonly string[],
  options: AccuracyOptions,
  io: Io,
): Promise<ExitCode> {
  const { matrix, metricCommand, notes, pairs } = await requestedPairs(first, words, options, io);
  if (metricCommand.length > 0 && !metricCommand.some((word) => word.includes('{model}'))) {
    throw new UsageError('the metric command needs {model} where the path of the ONNX file goes');
  }
  const data = options.data === undefined ? null : resolve(io.cwd, options.data);
  const { cwd, env, signal, spawn } = io;
  const helper = { cwd, env, spawn, signal, timeoutMs: options.timeout * 1000 };
  const python = pythonOf(options.python, env);
  const settings = { ...options, data, helper, metricCommand, python };
  const compared: Compared[] = [];
  for (const pair of pairs) {
    signal.throwIfAborted();
    const found = await comparePair(pair, settings);
    if (matrix === null && 'problem' in found) throw new UsageError(found.problem);
    compared.push({ pair, found });
  }
  const rows = pairs.some(({ precision }) => precision !== null)
    ? await keep(compared, matrix, options, io)
    : compared.map((row) => rowOutput(row, false, null));
  const output: AccuracyOutput = { schemaVersion: 1, maxDropDb: options.maxDrop, comparisons: rows, notes };
  printResult(io, options, output, accuracyText);
  if (rows.some((row) => row.kind === 'compared' && row.before?.isRegression === true)) return EXIT_CODES.regression;
  return rows.some(({ kind }) => kind === 'failed') ? EXIT_CODES.incomplete : EXIT_CODES.fine;
}

interface Compared {
  readonly pair: AccuracyPair;
  readonly found: Awaited<ReturnType<typeof comparePair>>;
}

/**
 * The pairs to compare. `matrix` is the name of the matrix, null for two files; `metricCommand` is the user's command.
 */
async function requestedPairs(first: string, words: readonly string[], options: AccuracyOptions, io: Io) {
  if (/\.ya?ml$/i.test(first)) {
    const matrix = readMatrix(first, io);
    const cells = filterCells(matrix, options.filter);
    const cache = new VariantCache(join(dirname(storePath(options.db, io)), 'variants'));
    const found = pairsOfMatrix(cells, io.cwd, await filesOfCells(cells, cache));
    if (found.pairs.length === 0) {
      const why = found.notes.length === 0 ? 'one precision alone' : found.notes.join('; ');
      throw new UsageError(`${printable(first)}: nothing to compare: ${printable(why)}`);
    }
    return { ...found, matrix: matrix.name, metricCommand: words };
  }
  const [variant, ...metricCommand] = words;
  ensure(variant !== undefined, 'give a matrix, or two files: bench model accuracy REFERENCE.onnx VARIANT.onnx');
  for (const path of [first, variant]) {
    if (!existsSync(resolve(io.cwd, path))) throw new UsageError(`${printable(path)}: file not found`);
  }
  if ((options.model === undefined) !== (options.precision === undefined)) {
    throw new UsageError('to store it, name both: --model and --precision');
  }
  if (isExport(first) && (options.model !== undefined || metricCommand.length > 0)) {
    throw new UsageError('--model, --precision and a metric command are for ONNX files');
  }
  const pair = {
    model: options.model ?? basename(variant).replace(/\.(?:onnx|json)$/, ''),
    precision: options.precision ?? null,
    precisionVia: 'onnx' as const,
    referencePrecision: null,
    reference: resolve(io.cwd, first),
    variant: resolve(io.cwd, variant),
    shapes: options.shapes ?? {},
  };
  return { pairs: [pair], notes: [], matrix: null, metricCommand };
}

async function keep(
  compared: readonly Compared[],
  matrix: string | null,
  { db, maxDrop }: AccuracyOptions,
  io: Io,
): Promise<AccuracyRow[]> {
  const store = warnIfMigrated(openStore(storePath(db, io), migrationsFolder()), io);
  return usingStore(store, (): AccuracyRow[] => {
    const sweepId = matrix === null ? null : (newestOfMatrix(store.db, matrix)?.sweepId ?? null);
    return compared.map((row) => {
      const { found, pair } = row;
      const { model, precision, precisionVia } = pair;
      if (precision === null || 'problem' in found) return rowOutput(row, false, null);
      const about = { sweepId, model, precision, precisionVia, ...found };
      const content = { ...about, provenance: 'measured' as const, measuredAt: io.now().toISOString() };
      const record: AccuracyRecord = { accuracyId: hashOf(content), ...content };
      const before = accuracyHistory(store.db, record).find((other) => sameAccuracyHistory(other, record));
      saveAccuracy(store.db, record);
      return rowOutput(row, true, accuracyDrop(record, before ?? null, maxDrop));
    });
  });
}

/** @param drop change from the newest accuracy on the same inputs; null without one */
function rowOutput({ pair, found }: Compared, stored: boolean, drop: AccuracyDrop | null): AccuracyRow {
  const { model, precision, referencePrecision, reference, variant } = pair;
  if ('problem' in found) return { kind: 'failed', model, precision, reference, variant, ...found };
  const before = drop && {
    measuredAt: drop.before.measuredAt,
    sqnrDb: drop.before.accuracy.sqnrDb,
    dropDb: Number.isFinite(drop.dropDb) ? drop.dropDb : null,
    isRegression: drop.isRegression,
  };
  return { kind: 'compared', model, precision, referencePrecision, reference, variant, ...found, stored, before };
}

function accuracyText({ comparisons: rows, notes, maxDropDb }: AccuracyOutput, look: Look): string[] {
  const { style, columns } = look;
  const compared = rows.filter((row) => row.kind === 'compared');
  const failed = rows.filter((row) => row.kind === 'failed');
  const fallen = compared.filter(({ before }) => before?.isRegression === true);
  const emulated = compared.find(({ versions }) => versions['onnxruntime'] !== undefined)?.versions['onnxruntime'];
  return [
    ...(compared.length === 0 ? [] : renderTable(COLUMNS, compared, look)),
    ...(emulated === undefined
      ? []
      : [style.dim(`onnxruntime ${printable(emulated)} on the CPU, not the engine's kernels`)]),
    ...fallen.map((row) => style.bad(truncate(fallWords(row, maxDropDb), columns))),
    ...failed.map((row) => style.bad(truncate(`${pairName(row)}: ${row.problem}`, columns))),
    ...notes.map((note) => style.warn(truncate(printable(note), columns))),
  ];
}

const COLUMNS: readonly Column<ComparedRow>[] = [
  { header: 'model', text: ({ model }) => printable(model), minWidth: 8 },
  { header: 'precision', text: ({ precision }) => precision ?? '', minWidth: 4 },
  { header: 'against', text: ({ referencePrecision }) => referencePrecision ?? '', dropRank: 6 },
  numberColumn('SQNR', ({ accuracy }) => formatDecibels(accuracy.sqnrDb)),
  numberColumn('cosine', ({ accuracy }) => accuracy.cosineMean.toFixed(5), 3),
  numberColumn('worst', ({ accuracy }) => accuracy.cosineMin.toFixed(5), 2),
  numberColumn('largest error', ({ accuracy }) => formatNumber(accuracy.maxAbsError), 5),
  numberColumn('top-1', ({ accuracy: { top1 } }) => (top1 === null ? '' : `${top1.same}/${top1.of}`), 1),
  numberColumn('own metric', ({ accuracy: { custom } }) =>
    custom === null ? '' : `${formatNumber(custom.reference)} → ${formatNumber(custom.variant)}`,
  ),
];

function fallWords(row: ComparedRow, maxDropDb: number): string {
  const [was, is] = [row.before?.sqnrDb ?? null, row.accuracy.sqnrDb].map(formatDecibels);
  return `${pairName(row)}: accuracy fell from ${was} to ${is}, by more than ${formatNumber(maxDropDb, 2)} dB`;
}

function pairName({ model, precision }: AccuracyRow): string {
  return printable([model, precision ?? ''].join(' ').trim());
}
