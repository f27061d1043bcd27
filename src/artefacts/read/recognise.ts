import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { plainName, readChunks, readWhole } from '../files.ts';
import { TooLargeError } from '../../errors.ts';
import { knownDrivers } from '../../harnesses/registry.ts';
import type { CustomMetricId } from '../../records/metric.ts';
import { isLayerCsv } from '../../trtexec/exports/layer-csv.ts';

/** How layers are written where no log lies next to them. */
const LAYER_FORMATS = ['trtexec', 'trace', 'csv', 'trt-engine-explorer'] as const;

export type RunSource =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'log'; readonly path: string }
  | { readonly kind: 'report'; readonly path: string; readonly driver: string }
  | { readonly kind: 'layers'; readonly path: string; readonly format: (typeof LAYER_FORMATS)[number] };

/** Values of `--as` besides the drivers. */
export const TRTEXEC = 'trtexec';
export const ENGINE_EXPLORER = 'trt-engine-explorer';

/** Extensions of reports in a folder; a file named by the user may have any. */
export const REPORT_NAME = /\.(?:json|jsonl|csv|txt|log|out|trace)$/;
const HEAD_BYTES = 1 << 20;
const UNMARKED_BYTES = 4 << 20;

/** A file of trt-engine-explorer: `resnet.onnx.engine.graph.json`, with others of that name next to it. */
export const EXPLORER_GRAPH = /\.graph\.json$/;
const LAYERS = /"LayerType"\s*:|"Layers"\s*:\s*\[|"averageMs"\s*:/;
const LAYER_OWNERS = [TRTEXEC, ENGINE_EXPLORER, 'torch-tensorrt'];
const TRACE = /"ph"\s*:\s*"X"/;

export interface ImportHints {
  readonly as: string | null;
  readonly metric: CustomMetricId | null;
  /** Where the metric is in a line, as `latency: {ms} ms`. */
  readonly pattern?: string | null;
}

/**
 * The harness whose reports a file holds (not a trtexec log); null if none.
 * @throws the reason of `signal` once it is aborted
 */
export async function recogniseReport(
  path: string,
  { as, metric, pattern = null }: ImportHints,
  signal?: AbortSignal,
): Promise<RunSource | null> {
  if (as === TRTEXEC || as === ENGINE_EXPLORER) return null;
  const head = await headOf(path, signal);
  if (head === null) return null;
  const candidates = knownDrivers().filter(({ kind, mark }) => {
    if (as !== null && as !== kind) return false;
    return mark === null ? as !== null || mayReport(head) : mark.test(head.text);
  });
  if (candidates.length === 0) return null;
  const text = head.isWhole ? head.text : await textOf(path, signal);
  if (text === null) return null;
  const name = plainName(basename(path));
  for (const { kind, reports } of candidates) {
    // Each driver parses the whole text; let a signal arrive in between.
    await nextTurn();
    signal?.throwIfAborted();
    if (reports(text, name, metric, pattern).length > 0) return { kind: 'report', path, driver: kind };
  }
  return null;
}

export async function recogniseLayers(
  path: string,
  as: string | null,
  signal?: AbortSignal,
): Promise<RunSource | null> {
  if (as !== null && !LAYER_OWNERS.includes(as)) return null;
  const name = plainName(path);
  if (!/\.(?:json|trace|csv)$/.test(name)) return null;
  const head = await headOf(path, signal);
  if (head === null) return null;
  if (name.endsWith('.csv')) {
    return as === ENGINE_EXPLORER || !isLayerCsv(head.text) ? null : { kind: 'layers', path, format: 'csv' };
  }
  const isLayers = LAYERS.test(head.text);
  if (EXPLORER_GRAPH.test(name) && isLayers && as !== TRTEXEC) {
    return { kind: 'layers', path, format: ENGINE_EXPLORER };
  }
  if (as === ENGINE_EXPLORER) return null;
  if (TRACE.test(head.text) || name.endsWith('.trace')) {
    return { kind: 'layers', path, format: 'trace' };
  }
  return isLayers ? { kind: 'layers', path, format: 'trtexec' } : null;
}

/** For drivers without a mark, only small JSON files are tried. */
function mayReport({ text, bytes }: Head): boolean {
  return bytes <= UNMARKED_BYTES && /^\s*[[{]/.test(text);
}

interface Head {
  readonly text: string;
  readonly isWhole: boolean;
  readonly bytes: number;
}

async function headOf(path: string, signal: AbortSignal | undefined): Promise<Head | null> {
  const copies: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of readChunks(path, null, signal)) {
      copies.push(chunk);
      bytes += chunk.length;
      if (bytes >= HEAD_BYTES) {
        return headFrom(copies, false, path);
      }
    }
  } catch {
    signal?.throwIfAborted();
    return null;
  }
  return headFrom(copies, true, path);
}

async function headFrom(copies: readonly Buffer[], isWhole: boolean, path: string): Promise<Head> {
  const text = Buffer.concat(copies).toString('utf8', 0, isWhole ? undefined : HEAD_BYTES);
  return { text, isWhole, bytes: (await stat(path)).size };
}

async function textOf(path: string, signal: AbortSignal | undefined): Promise<string | null> {
  try {
    return (await readWhole(path, signal)).toString('utf8');
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof TooLargeError) throw error;
    return null;
  }
}
