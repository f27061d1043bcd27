import { existsSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';

import { ensure, errorText, TooLargeError, UsageError } from '../../errors.ts';
import { plainName, readWhole } from '../../files/files.ts';
import { type NeededField, NONE_STATED, type StandaloneReport } from '../../harnesses/driver.ts';
import { findDriver } from '../../harnesses/registry.ts';
import { TORCH_CELL } from '../../harnesses/torch-tensorrt.ts';
import { batchOf, keyedCell, PRECISIONS, type Shapes } from '../../records/cell.ts';
import type { CellHarness } from '../../records/harness.ts';
import { printable } from '../../text/printable.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import type { StatedCell } from '../../trtexec/cell-of-run.ts';
import { parseExplorerMetadata } from '../../trtexec/exports/layer-info.ts';
import { parseTraceEvents } from '../../trtexec/exports/trace-events.ts';
import { runFilesOf } from '../run-files.ts';
import { emptyManifest, type RunManifest } from '../run-manifest.ts';
import type { ImportHints, RunSource } from './discover.ts';
import { LAYER_NAMES } from './read-exports.ts';
import { readBareLog, type ReadOptions, type ReadRun, readRunFolder, readStatedRun } from './read-run.ts';

export interface StandaloneReading extends ImportHints {
  readonly stated: StatedCell;
  /** False if unknown fields may stay open, because nothing is stored. */
  readonly isStrict: boolean;
  /** Number of runs that the times of a trace are summed over. */
  readonly runs: number | null;
  /** File with the output of nvidia-smi for the only log. */
  readonly watched?: string | undefined;
}

export const NOTHING_STATED: StandaloneReading = {
  stated: {},
  isStrict: false,
  runs: null,
  as: null,
  metric: null,
  pattern: null,
};

/**
 * @throws TooLargeError for files made to exhaust memory
 * @throws the reason of `options.signal` once it is aborted
 */
export async function readSource(
  source: RunSource,
  standalone: StandaloneReading = NOTHING_STATED,
  options: Omit<ReadOptions, 'isForeign'> = {},
): Promise<ReadRun[]> {
  const runs = await runsOf(source, standalone, { ...options, isForeign: true });
  options.signal?.throwIfAborted();
  return runs;
}

function runsOf(source: RunSource, standalone: StandaloneReading, options: ReadOptions): Promise<ReadRun[]> {
  switch (source.kind) {
    case 'folder':
      return readRunFolder(source.path, options);
    case 'log':
      return readBareLog(source.path, options, undefined, standalone.watched ?? source.watched);
    case 'report':
      return readReportFile(source, standalone);
    case 'layers':
      return readLayersFile(source, standalone);
  }
}

/**
 * Reads layers without a log: trtexec exports, `get_layer_info()`, traces, tables as CSV, trt-engine-explorer files.
 * Where nothing is stored, the layer information next to a profile belongs to it.
 * @throws UsageError if the file is damaged, or if a required fact is unknown
 */
async function readLayersFile(
  { path, format }: Extract<RunSource, { kind: 'layers' }>,
  reading: StandaloneReading,
): Promise<ReadRun[]> {
  if (format === 'trt-engine-explorer') return [await readExplorerFiles(path, reading)];
  const isTrace = format === 'trace';
  const bytes = await contentOf(path);
  const runs = isTrace ? parsedIn(path, bytes, (text) => parseTraceEvents(text, reading.runs).iterations) : null;
  const ofTrtexec = bytes.includes('"averageMs"') ? LAYER_NAMES.profile : LAYER_NAMES.info;
  const name = format === 'trtexec' ? ofTrtexec : LAYER_NAMES[format];
  const torch = { ...NONE_STATED, harness: TORCH_CELL, transfers: null };
  const cell =
    isTrace || reading.as === TORCH_CELL.name
      ? reportCell(path, torch, reading, ['precision', 'shapes', 'cudaGraph'])
      : trtexecCell(path, reading);
  const stated = { role: 'profile' as const, cell, lone: { kind: 'layers' as const, format, runs } };
  const sources = new Map<string, string>([[path, name]]);
  const info =
    name === LAYER_NAMES.profile && !reading.isStrict ? besides(join(dirname(path), 'layers'), ['.json']) : null;
  if (info !== null) sources.set(info, LAYER_NAMES.info);
  return [await readKeptFiles(path, stated, sources, bytes)];
}

/** @throws UsageError that names the file */
function parsedIn<Content>(path: string, bytes: Buffer, parse: (text: string) => Content): Content {
  try {
    return parse(bytes.toString('utf8'));
  } catch (error) {
    throw new UsageError(`${printable(path)}: ${errorText(error)}`, { cause: error });
  }
}

function trtexecCell(path: string, { stated, isStrict }: StandaloneReading): RunManifest['cell'] {
  const isKnown = stated.model !== undefined || !isStrict;
  ensure(isKnown, `${printable(path)} does not state its model; add --model NAME`);
  const { model, precision, shapes } = stated;
  return { model, precision, shapes };
}

/** Extensions of models and engines. trt-engine-explorer keeps them in its file names. */
const ENDINGS = /(?:\.(?:onnx|engine|plan|trt))+$/;

/**
 * Reads the files that trt-engine-explorer wrote for one engine: `X.graph.json`, and next to it `X.profile.json` and
 * `X.profile.metadata.json`.
 * @param path of the graph
 * @throws UsageError when one of them is damaged
 */
async function readExplorerFiles(path: string, { stated }: StandaloneReading): Promise<ReadRun> {
  const stem = plainName(path).replace(/\.graph\.json$/, '');
  const profile = besides(stem, ['.profile.json']);
  const metadataPath = besides(stem, ['.profile.metadata.json', '.metadata.json']);
  const bytes = metadataPath === null ? Buffer.from('{}') : await contentOf(metadataPath);
  const metadata = parsedIn(metadataPath ?? path, bytes, parseExplorerMetadata);
  const { cudaGraph, dataTransfers, gpuName, shapes, spinWait, streams } = metadata;
  const cell = keyedCell({
    model: stated.model ?? basename(stem).replace(ENDINGS, ''),
    precision: isOneOf(PRECISIONS, stated.precision) ? stated.precision : 'unstated',
    precisionVia: 'engine',
    shapes: Object.keys(shapes).length > 0 ? shapes : (stated.shapes ?? {}),
    cudaGraph: cudaGraph ?? stated.cudaGraph ?? false,
    dataTransfers: dataTransfers ?? false,
    streams: streams ?? 1,
    spinWait: spinWait ?? false,
    inputs: { kind: 'random' },
    axisFlags: {},
  });
  const sources = new Map<string, string>([[path, LAYER_NAMES.info]]);
  if (profile !== null) sources.set(profile, LAYER_NAMES.profile);
  if (metadataPath !== null) sources.set(metadataPath, 'metadata.json');
  const standalone = { kind: 'layers' as const, format: 'trtexec' as const, runs: null };
  const environment = gpuName === null ? {} : { gpuName };
  return readKeptFiles(path, { role: 'profile', cell, lone: standalone, environment }, sources);
}

function besides(stem: string, endings: readonly string[]): string | null {
  const paths = endings.flatMap((ending) => ['', '.gz', '.zst', '.br'].map((packed) => stem + ending + packed));
  return paths.find((path) => existsSync(path)) ?? null;
}

/** Fields of a cell that a file may not state, with the option that states each. */
const FIELDS = {
  model: { words: 'its model', option: '--model NAME' },
  precision: { words: 'its precision', option: '--precision NAME' },
  shapes: { words: 'its shapes', option: '--shapes input:8x3x224x224' },
  cudaGraph: { words: 'whether it used a CUDA graph', option: '--cuda-graph on|off' },
} as const;

/** In a note about an option for reports that do not state a fact, at a report that does. */
export const HAS_NO_EFFECT = 'has no effect: it states';

/** @throws UsageError if a report is damaged, or part of its cell is unknown */
async function readReportFile(
  { path, driver: kind }: Extract<RunSource, { kind: 'report' }>,
  reading: StandaloneReading,
): Promise<ReadRun[]> {
  const driver = findDriver(kind);
  if (driver === null) throw new UsageError(`this version of bench has no driver ${printable(kind)}`);
  const bytes = await contentOf(path);
  const file = plainName(basename(path));
  const name = `report${extname(file)}`;
  const runs: ReadRun[] = [];
  const reports = driver.reports(bytes.toString('utf8'), file, reading.metric, reading.pattern);
  for (const [index, report] of reports.entries()) {
    const { result, harness, startedAt, notes = [] } = report;
    if (result.kind === 'faulty') throw new UsageError(`${printable(path)}: ${result.problem}`);
    const { transfers, timer } = result.reading.method;
    const cell = reportCell(path, { ...report, transfers }, reading, driver.needs);
    const { metric, pattern } = reading;
    const about = { driver: kind, name, file, index, metric, pattern };
    const { timer: statedTimer } = harnessOf({ ...harness, timer }, reading.stated);
    const standalone = { kind: 'report' as const, ...about, timer: statedTimer };
    const ignored = (['precision', 'cudaGraph'] as const).filter((field) => {
      return reading.stated[field] !== undefined && reading.stated[field] !== (report[field] ?? reading.stated[field]);
    });
    const said = ignored.map((field) => `${FIELDS[field].option} ${HAS_NO_EFFECT} ${FIELDS[field].words}`);
    const stated = { role: 'timed' as const, cell, startedAt, lone: standalone, notes: [...notes, ...said] };
    runs.push(await readKeptFiles(path, stated, new Map([[path, name]]), bytes));
  }
  return runs;
}

/**
 * Reads standalone files as they will be kept in a run folder.
 * @param sources name in the run folder by path
 * @param bytes of the file at `path`, if already read
 * @throws UsageError if they contain nothing
 */
async function readKeptFiles(
  path: string,
  stated: Partial<RunManifest>,
  sources: ReadonlyMap<string, string>,
  bytes?: Buffer,
): Promise<ReadRun> {
  const contents = new Map<string, Buffer>();
  for (const [source, name] of sources) {
    contents.set(name, source === path && bytes !== undefined ? bytes : await contentOf(source));
  }
  const files = runFilesOf(dirname(path), contents);
  const [run] = await readStatedRun(files, { ...emptyManifest(), ...stated });
  if (run === undefined || run.outcome.kind === 'failed') {
    // Replaces the name under which the file would be kept, which the user does not know.
    const problem = run?.outcome.evidence[0]?.text.replace(/^\S+ is damaged: /, '') ?? 'it contains no run';
    throw new UsageError(`${printable(path)}: ${problem}`);
  }
  return { ...run, path, sources };
}

/** @throws UsageError when the file cannot be read to its end */
async function contentOf(path: string): Promise<Buffer> {
  try {
    return await readWhole(path);
  } catch (error) {
    if (error instanceof TooLargeError) throw error;
    throw new UsageError(`${printable(path)} cannot be read to its end: ${errorText(error)}`);
  }
}

/** The cell according to a report; null for facts that it lacks. */
type ReportedCell = Pick<StandaloneReport, 'harness' | 'model' | 'precision' | 'shapes' | 'cudaGraph' | 'identity'> & {
  readonly transfers: boolean | null;
};

/**
 * The cell of a standalone report, which takes precedence over statements of the user.
 * @throws UsageError naming the options that supply what is missing
 */
function reportCell(path: string, report: ReportedCell, reading: StandaloneReading, needs: readonly NeededField[]) {
  const { isStrict } = reading;
  const stated = isStrict ? reading.stated : { model: 'unnamed', ...reading.stated };
  const known = {
    model: report.model ?? stated.model,
    precision: report.precision ?? stated.precision,
    shapes: shapesOf(report.shapes, stated.shapes),
    cudaGraph: report.cudaGraph ?? stated.cudaGraph,
  };
  const lacking = (['model', ...needs] as const).filter((field) => known[field] === undefined);
  if (isStrict && lacking.length > 0) {
    const words = lacking.map((field) => FIELDS[field].words).join(', nor ');
    const options = lacking.map((field) => FIELDS[field].option).join(' ');
    throw new UsageError(`${printable(path)} does not state ${words}; add ${options}`);
  }
  const { model = 'unnamed', precision, shapes = {}, cudaGraph = false } = known;
  return keyedCell({
    model,
    precision: isOneOf(PRECISIONS, precision) ? precision : 'unstated',
    precisionVia: 'engine',
    shapes,
    cudaGraph,
    dataTransfers: report.transfers ?? false,
    streams: 1,
    spinWait: true,
    inputs: { kind: 'random' },
    axisFlags: report.identity,
    harness: harnessOf(report.harness, stated),
  });
}

/** The user may state a timer if the report does not. */
function harnessOf(harness: CellHarness, { timer }: StatedCell): CellHarness {
  return harness.timer === 'unknown' && timer !== undefined ? { ...harness, timer } : harness;
}

/** A report may state only its batch; the user states the remaining dimensions. */
function shapesOf(own: Shapes | null, stated: Shapes | undefined): Shapes | undefined {
  if (own === null) return stated;
  const batch = batchOf(own);
  const isBatchOnly = Object.values(own).every((dims) => dims.length === 1);
  if (stated === undefined || batch === null || !isBatchOnly || batchOf(stated) === null) return own;
  return Object.fromEntries(Object.entries(stated).map(([input, dims]) => [input, [batch, ...dims.slice(1)]]));
}
