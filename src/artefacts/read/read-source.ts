import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { plainName, readWhole } from '../../files/files.ts';
import { LAYER_NAMES } from './read-exports.ts';
import { contentOf, NOTHING_STATED, readKeptFiles, readReportFile, reportCell } from './read-standalone.ts';
import type { StandaloneReading } from './read-standalone.ts';
import { readBareLog, readExportsAlone, type ReadOptions, type ReadRun, readRunFolder } from './read-run.ts';
import type { RunSource } from './recognise.ts';
import type { RunManifest } from '../run-manifest.ts';
import { ExportFormatError, UsageError, errorText } from '../../errors.ts';
import { NOTHING_STATED as NO_CELL_STATED } from '../../harnesses/driver.ts';
import { TORCH_CELL } from '../../harnesses/torch-tensorrt.ts';
import { keyedCell, PRECISIONS } from '../../records/cell.ts';
import { printable } from '../../text/printable.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { NO_METADATA, parseExplorerMetadata, parseLayerInfo } from '../../trtexec/exports/layer-info.ts';
import { parseTraceEvents } from '../../trtexec/exports/trace-events.ts';
import { parseProfile } from '../../trtexec/exports/profile.ts';
import { NO_EXPORTS } from '../../trtexec/run-facts.ts';

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
      return readReportFile(source, standalone, options.signal);
    case 'layers':
      return readLayersFile(source, standalone, options.signal);
  }
}

/**
 * Reads layers without a log: trtexec exports, `get_layer_info()`, traces, tables as CSV, trt-engine-explorer files.
 * @throws UsageError if the file is damaged, or if a required fact is unknown
 */
async function readLayersFile(
  { path, format }: Extract<RunSource, { kind: 'layers' }>,
  reading: StandaloneReading,
  signal?: AbortSignal,
): Promise<ReadRun[]> {
  if (format === 'trt-engine-explorer') return [await readExplorerFiles(path, reading)];
  const isTrace = format === 'trace';
  const bytes = await contentOf(path, signal);
  const runs = isTrace ? runsInTrace(path, bytes, reading.runs) : null;
  const ofTrtexec = bytes.includes('"averageMs"') ? LAYER_NAMES.profile : LAYER_NAMES.info;
  const name = format === 'trtexec' ? ofTrtexec : LAYER_NAMES[format];
  const torch = { ...NO_CELL_STATED, harness: TORCH_CELL, transfers: null };
  const cell =
    isTrace || reading.as === TORCH_CELL.name
      ? reportCell(path, torch, reading, ['precision', 'shapes', 'cudaGraph'])
      : trtexecCell(path, reading);
  const stated = { role: 'profile' as const, cell, lone: { kind: 'layers' as const, format, runs } };
  return [await readKeptFiles(path, stated, new Map([[path, name]]), bytes)];
}

function runsInTrace(path: string, bytes: Buffer, stated: number | null): number {
  try {
    return parseTraceEvents(bytes.toString('utf8'), stated).iterations;
  } catch (error) {
    throw new UsageError(`${printable(path)}: ${errorText(error)}`, { cause: error });
  }
}

function trtexecCell(path: string, { stated, isStrict }: StandaloneReading): RunManifest['cell'] {
  if (stated.model === undefined && isStrict) {
    throw new UsageError(`${printable(path)} does not state its model; add --model NAME`);
  }
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
  const metadata = metadataPath === null ? NO_METADATA : await metadataIn(metadataPath);
  const cell = keyedCell({
    model: stated.model ?? basename(stem).replace(ENDINGS, ''),
    precision: isOneOf(PRECISIONS, stated.precision) ? stated.precision : 'unstated',
    precisionVia: 'engine',
    shapes: metadata.shapes ?? stated.shapes ?? {},
    cudaGraph: metadata.cudaGraph ?? stated.cudaGraph ?? false,
    dataTransfers: metadata.dataTransfers ?? false,
    streams: metadata.streams ?? 1,
    spinWait: metadata.spinWait ?? false,
    inputs: { kind: 'random' },
    axisFlags: {},
  });
  const sources = new Map<string, string>([[path, LAYER_NAMES.info]]);
  if (profile !== null) sources.set(profile, LAYER_NAMES.profile);
  if (metadataPath !== null) sources.set(metadataPath, 'metadata.json');
  const environment = metadata.gpuName === null ? {} : { gpuName: metadata.gpuName };
  const standalone = { kind: 'layers' as const, format: 'trtexec' as const, runs: null };
  return readKeptFiles(path, { role: 'profile', cell, lone: standalone, environment }, sources);
}

function besides(stem: string, endings: readonly string[]): string | null {
  const paths = endings.flatMap((ending) => ['', '.gz', '.zst', '.br'].map((packed) => stem + ending + packed));
  return paths.find((path) => existsSync(path)) ?? null;
}

async function metadataIn(path: string) {
  const text = (await contentOf(path)).toString('utf8');
  try {
    return parseExplorerMetadata(text);
  } catch (error) {
    throw new UsageError(`${printable(path)}: ${errorText(error)}`, { cause: error });
  }
}

/** Names of layer information next to a profile. */
const INFO_NAMES = ['layers.json', 'layers.json.gz', 'layers.json.zst', 'layers.json.br'] as const;

/**
 * Reads a single file of `--exportProfile` or `--exportLayerInfo`. Next to a profile, it also reads the layer
 * information of the same folder.
 * @returns null when the file is neither
 */
export async function readLayerFile(path: string): Promise<ReadRun | null> {
  if (!plainName(path).endsWith('.json')) return null;
  const profile = await exportIn(path, parseProfile);
  const isProfile = profile !== null && profile.layers.length > 0;
  const infoPath = isProfile ? INFO_NAMES.map((name) => join(dirname(path), name)).find(existsSync) : path;
  const layerInfo = infoPath === undefined ? null : await exportIn(infoPath, parseLayerInfo);
  if (!isProfile && layerInfo === null) return null;
  return readExportsAlone(path, { ...NO_EXPORTS, profile: isProfile ? profile : null, layerInfo });
}

/** Null if the file holds something else. */
function exportIn<Export>(path: string, parse: (text: string) => Export): Promise<Export | null> {
  return readWhole(path)
    .then((bytes) => parse(bytes.toString('utf8')))
    .catch((error: unknown) => {
      if (error instanceof ExportFormatError) return null;
      throw error;
    });
}

/** Waiting for files takes longer than parsing them, so this many are read while one is stored. */
const READ_AHEAD = 8;

/** Returns results in the order of the items, and throws in that order too. */
export async function* readAhead<Item, Result>(
  items: Iterable<Item>,
  read: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const reading: Promise<Result>[] = [];
  try {
    for (const item of items) {
      const result = read(item);
      result.catch(() => {});
      reading.push(result);
      if (reading.length <= READ_AHEAD) continue;
      const first = reading.shift();
      if (first !== undefined) yield await first;
    }
    for (let next = reading.shift(); next !== undefined; next = reading.shift()) yield await next;
  } finally {
    await Promise.allSettled(reading);
  }
}
