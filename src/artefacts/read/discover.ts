import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { TooLargeError, UsageError } from '../../errors.ts';
import { headOfFile, plainName, readChunks, readWhole } from '../../files/files.ts';
import { ATTEMPT_PREFIX, hasOwnName, isTemporary, RUN_MANIFEST, runOfAttached } from '../../files/layout.ts';
import { knownDrivers } from '../../harnesses/registry.ts';
import type { CustomMetricId } from '../../records/metric.ts';
import { isLayerCsv } from '../../trtexec/exports/layer-csv.ts';
import { readBareLog, STDOUT_LOG } from './read-run.ts';
import { isDmon } from './read-telemetry.ts';

export type RunSource =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'log'; readonly path: string; readonly watched?: string }
  | { readonly kind: 'report'; readonly path: string; readonly driver: string }
  | {
      readonly kind: 'layers';
      readonly path: string;
      readonly format: 'trtexec' | 'trace' | 'csv' | 'trt-engine-explorer';
    };

/** A value of `--as` in addition to the drivers. */
export const TRTEXEC = 'trtexec';
export const ENGINE_EXPLORER = 'trt-engine-explorer';
const LAYER_OWNERS = [TRTEXEC, ENGINE_EXPLORER, 'torch-tensorrt'];

/** A file inside a folder counts as a log if its name matches and it contains trtexec output. */
const LOG_NAME = /\.(?:log|txt|out|err)(?:\.\d+)?$/;
/** Programs and scripts also have no extension, so such a file must look like a log. */
const NO_ENDING = /^[^.]+$/;
const LOOKS_LIKE_LOG = /^(?:&&&& RUNNING TensorRT\.trtexec|\[\d\d\/\d\d\/\d{4}-[\d:]{8}\] \[I\] === Model Options)/m;
const STAMP = /\[\d\d\/\d\d\/\d{4}-[\d:]{8}\] \[[FEWIV]\] /;
const SPEAKS = /TensorRT\.trtexec|=== (?:Performance summary|Model Options|Profile \()/;
/** Output of TensorRT 6 and earlier, which has only averages. */
const OLD_TRTEXEC = /Average over \d+ runs is [\d.]+ ms \(host walltime is/;
/** Extensions of reports in a folder; a file named by the user may have any. */
const REPORT_NAME = /\.(?:json|jsonl|csv|txt|log|out|trace)$/;
/** A file of trt-engine-explorer: `resnet.onnx.engine.graph.json`, next to others with the same prefix. */
const EXPLORER_GRAPH = /\.graph\.json$/;
const LAYERS = /"LayerType"\s*:|"Layers"\s*:\s*\[|"averageMs"\s*:/;
const TRACE = /"ph"\s*:\s*"X"/;
const HEAD_BYTES = 1 << 20;

export interface ImportHints {
  readonly as: string | null;
  readonly metric: CustomMetricId | null;
  /** Marks the metric in a line, such as `latency: {ms} ms`. */
  readonly pattern: string | null;
}

export interface OnTheWay {
  readonly signal?: AbortSignal;
  readonly link?: (path: string) => void;
  /** Called with a line about an archive that no program here unpacks. */
  readonly packed?: (problem: string) => void;
  /** Called for a file whose name is that of a log, but that holds nothing readable. */
  readonly leftOut?: (path: string, kind: LeftOutKind) => void;
}

export const LEFT_OUT_KINDS = ['oldTrtexec', 'empty', 'other'] as const;

export type LeftOutKind = (typeof LEFT_OUT_KINDS)[number];

/** Why nothing could be read from a file. */
export function leftOutKind(path: string): LeftOutKind {
  const head = headOfFile(path, HEAD_BYTES).toString('latin1');
  return head === '' ? 'empty' : OLD_TRTEXEC.test(head) ? 'oldTrtexec' : 'other';
}

/** The start of a file, unpacked. */
interface Head {
  readonly path: string;
  readonly name: string;
  readonly text: string;
  readonly isWhole: boolean;
}

/**
 * A truncated archive has no text.
 * @throws UsageError that names the program which an archive needs
 */
async function headOf(path: string): Promise<Head> {
  const copies: Buffer[] = [];
  const head = (isWhole: boolean): Head => {
    const text = Buffer.concat(copies).toString('utf8', 0, HEAD_BYTES);
    return { path, name: plainName(basename(path)), text, isWhole };
  };
  let bytes = 0;
  try {
    for await (const chunk of readChunks(path)) {
      copies.push(chunk);
      bytes += chunk.length;
      if (bytes >= HEAD_BYTES) return head(false);
    }
    return head(true);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    copies.length = 0;
    return head(false);
  }
}

/**
 * Finds the runs under a path: run folders at any depth, bare logs, and reports of other harnesses. A file that the
 * user names may have any name if it holds output of trtexec, or of a failed start of it; it may also hold layers.
 * Symbolic links in a folder are not followed, because they may lead anywhere.
 * @throws when the path does not exist, or when the signal aborts
 */
export async function discoverRuns(
  path: string,
  hints: ImportHints = { as: null, metric: null, pattern: null },
  onTheWay: OnTheWay = {},
): Promise<RunSource[]> {
  const info = await stat(path);
  if (info.isDirectory()) return discoverFolder(path, hints, onTheWay);
  // A pipe can be read only once.
  if (!info.isFile()) return [{ kind: 'log', path }];
  const found = await sourceOf(await headOf(path), hints, true);
  return found === null ? [] : [found];
}

async function discoverFolder(folder: string, hints: ImportHints, onTheWay: OnTheWay): Promise<RunSource[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const isRun = entries.some((entry) => entry.isFile() && [RUN_MANIFEST, STDOUT_LOG].includes(plainName(entry.name)));
  const found: RunSource[] = isRun ? [{ kind: 'folder', path: folder }] : [];
  const watched: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    await nextTurn();
    onTheWay.signal?.throwIfAborted();
    const path = join(folder, entry.name);
    if (isTemporary(entry.name) || entry.name.startsWith(ATTEMPT_PREFIX)) continue;
    if (runOfAttached(entry.name) !== null) continue;
    if (entry.isDirectory() && !(isRun && hasOwnName(folder)))
      found.push(...(await discoverFolder(path, hints, onTheWay)));
    else if (entry.isSymbolicLink()) onTheWay.link?.(path);
    if (!entry.isFile() || isRun) continue;
    try {
      const head = await headOf(path);
      const source = await sourceOf(head, hints, false);
      if (source !== null) found.push(source);
      else if (isDmon(head.text)) watched.push(path);
      else if (LOG_NAME.test(head.name)) onTheWay.leftOut?.(path, leftOutKind(path));
    } catch (error) {
      if (!(error instanceof UsageError) || error instanceof TooLargeError) throw error;
      onTheWay.packed?.(error.message);
    }
  }
  // With several logs it is unknown during which one nvidia-smi ran.
  const [log, ...logs] = found.filter(({ kind, path }) => kind === 'log' && dirname(path) === folder);
  const [telemetry, ...more] = watched;
  if (log?.kind === 'log' && telemetry !== undefined && logs.length + more.length === 0) {
    return found.map((source) => (source === log ? { ...log, watched: telemetry } : source));
  }
  for (const path of watched) onTheWay.leftOut?.(path, 'other');
  return found;
}

/**
 * Takes layers without a log from a folder only if the user stated their cell, because they may belong to a log next to
 * them.
 * @param isNamed true for a file that the user named
 */
async function sourceOf(head: Head, hints: ImportHints, isNamed: boolean): Promise<RunSource | null> {
  const { name, path, text } = head;
  const { as } = hints;
  const isTrtexec = as === null || as === TRTEXEC;
  if (isTrtexec && (isNamed || LOG_NAME.test(name) || NO_ENDING.test(name))) {
    const isOld = OLD_TRTEXEC.test(text);
    if (isNamed && isOld) return null;
    if (await isLog(head, isNamed)) return isOld ? null : { kind: 'log', path };
  }
  const report = isNamed || REPORT_NAME.test(name) ? await reportIn(head, hints) : null;
  if (report !== null) return report;
  const layers = isNamed || EXPLORER_GRAPH.test(name) || !isTrtexec ? layersIn(head, as) : null;
  if (layers !== null || !isNamed || !isTrtexec) return layers;
  return (await readBareLog(path)).length > 0 ? { kind: 'log', path } : null;
}

async function isLog({ name, path, text, isWhole }: Head, isNamed: boolean): Promise<boolean> {
  if (!isNamed && NO_ENDING.test(name)) return LOOKS_LIKE_LOG.test(text);
  const isTruncated = text === '' && !isWhole && plainName(path) !== path;
  if (isTruncated || SPEAKS.test(text)) return true;
  // The only trace of trtexec in an excerpt may be the time stamps of its logger.
  return !isNamed && STAMP.test(text) && (await readBareLog(path)).length > 0;
}

/** The harness whose reports a file holds; null if none. */
async function reportIn({ isWhole, name, path, text }: Head, hints: ImportHints) {
  const { as, metric, pattern } = hints;
  if (as === TRTEXEC || as === ENGINE_EXPLORER) return null;
  const candidates = knownDrivers().filter(({ kind, mark }) => {
    if (as !== null && as !== kind) return false;
    // Tries drivers without a mark only on small JSON files.
    return mark === null ? as !== null || (isWhole && /^\s*[[{]/.test(text)) : mark.test(text);
  });
  const whole = candidates.length === 0 || isWhole ? text : await wholeText(path);
  const driver = candidates.find(({ reports }) => reports(whole, name, metric, pattern).length > 0);
  return driver === undefined ? null : { kind: 'report' as const, path, driver: driver.kind };
}

function layersIn({ name, path, text }: Head, as: string | null): RunSource | null {
  if ((as !== null && !LAYER_OWNERS.includes(as)) || !/\.(?:json|trace|csv)$/.test(name)) return null;
  if (name.endsWith('.csv')) {
    return as !== ENGINE_EXPLORER && isLayerCsv(text) ? { kind: 'layers', path, format: 'csv' } : null;
  }
  const isLayers = LAYERS.test(text);
  if (EXPLORER_GRAPH.test(name) && isLayers && as !== TRTEXEC) return { kind: 'layers', path, format: ENGINE_EXPLORER };
  if (as === ENGINE_EXPLORER) return null;
  if (TRACE.test(text) || name.endsWith('.trace')) return { kind: 'layers', path, format: 'trace' };
  return isLayers ? { kind: 'layers', path, format: 'trtexec' } : null;
}

/** Empty if the file cannot be read to its end. */
async function wholeText(path: string): Promise<string> {
  try {
    return (await readWhole(path)).toString('utf8');
  } catch (error) {
    if (error instanceof TooLargeError) throw error;
    return '';
  }
}
