import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { plainName, readWhole, unpackedHead } from '../../files/files.ts';
import { TooLargeError } from '../../errors.ts';
import { knownDrivers } from '../../harnesses/registry.ts';
import type { CustomMetricId } from '../../records/metric.ts';
import { isLayerCsv } from '../../trtexec/exports/layer-csv.ts';

/** Formats of layers without a log. */
const LAYER_FORMATS = ['trtexec', 'trace', 'csv', 'trt-engine-explorer'] as const;

export type RunSource =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'log'; readonly path: string; readonly watched?: string }
  | { readonly kind: 'report'; readonly path: string; readonly driver: string }
  | { readonly kind: 'layers'; readonly path: string; readonly format: (typeof LAYER_FORMATS)[number] };

/** A value of `--as` in addition to the drivers. */
export const TRTEXEC = 'trtexec';
export const ENGINE_EXPLORER = 'trt-engine-explorer';

/** Extensions of reports in a folder; a file named by the user may have any. */
export const REPORT_NAME = /\.(?:json|jsonl|csv|txt|log|out|trace)$/;
const HEAD_BYTES = 1 << 20;
const UNMARKED_BYTES = 4 << 20;

/** A file of trt-engine-explorer: `resnet.onnx.engine.graph.json`, next to others with the same prefix. */
export const EXPLORER_GRAPH = /\.graph\.json$/;
const LAYERS = /"LayerType"\s*:|"Layers"\s*:\s*\[|"averageMs"\s*:/;
const LAYER_OWNERS = [TRTEXEC, ENGINE_EXPLORER, 'torch-tensorrt'];
const TRACE = /"ph"\s*:\s*"X"/;

export interface ImportHints {
  readonly as: string | null;
  readonly metric: CustomMetricId | null;
  /** Marks the metric in a line, such as `latency: {ms} ms`. */
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
  const found = await unpackedHead(path, HEAD_BYTES, signal);
  if (found === null) return null;
  const head = found.head.toString('utf8');
  const mayReport = (await stat(path)).size <= UNMARKED_BYTES && /^\s*[[{]/.test(head);
  const candidates = knownDrivers().filter(({ kind, mark }) => {
    if (as !== null && as !== kind) return false;
    // Tries drivers without a mark only on small JSON files.
    return mark === null ? as !== null || mayReport : mark.test(head);
  });
  if (candidates.length === 0) return null;
  const text = found.isWhole ? head : await textOf(path, signal);
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
  const head = (await unpackedHead(path, HEAD_BYTES, signal))?.head.toString('utf8');
  if (head === undefined) return null;
  if (name.endsWith('.csv')) {
    return as === ENGINE_EXPLORER || !isLayerCsv(head) ? null : { kind: 'layers', path, format: 'csv' };
  }
  const isLayers = LAYERS.test(head);
  if (EXPLORER_GRAPH.test(name) && isLayers && as !== TRTEXEC) {
    return { kind: 'layers', path, format: ENGINE_EXPLORER };
  }
  if (as === ENGINE_EXPLORER) return null;
  if (TRACE.test(head) || name.endsWith('.trace')) {
    return { kind: 'layers', path, format: 'trace' };
  }
  return isLayers ? { kind: 'layers', path, format: 'trtexec' } : null;
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
