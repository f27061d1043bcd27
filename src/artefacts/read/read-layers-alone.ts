import { UsageError } from '../../errors.ts';
import { printable } from '../../text/printable.ts';
import { TORCH_CELL } from '../../harnesses/torch-tensorrt/index.ts';
import { readExplorerFiles } from './read-explorer.ts';
import { LAYER_NAMES } from './read-lone-layers.ts';
import { contentOf, type LoneReading, readKeptFiles, reportCell } from './read-lone.ts';
import type { ReadRun } from './read-run.ts';
import type { RunManifest } from '../run-manifest.ts';
import type { RunSource } from './run-source.ts';

type LayersSource = Extract<RunSource, { kind: 'layers' }>;

/**
 * Reads layers that lie without a log: exports of trtexec, `get_layer_info()` and traces of Torch-TensorRT, the files of
 * trt-engine-explorer.
 * @throws UsageError when the file is damaged, or something is not known
 */
export async function readLayersFile(
  source: LayersSource,
  reading: LoneReading,
  signal?: AbortSignal,
): Promise<ReadRun[]> {
  const { path, format } = source;
  if (format === 'trt-engine-explorer') return [await readExplorerFiles(path, reading)];
  const isTrace = format === 'trace';
  if (isTrace && reading.runs === null) {
    throw new UsageError(
      `${printable(path)}: its times are summed over all runs, and it does not say how many: add --runs N`,
    );
  }
  const bytes = await contentOf(path, signal);
  const name = isTrace ? LAYER_NAMES.trace : layersNameOf(bytes);
  const isTorch = isTrace || reading.as === TORCH_CELL.name;
  const cell = isTorch ? torchCell(path, reading) : trtexecCell(path, reading);
  const lone = {
    kind: 'layers' as const,
    format: isTrace ? ('trace' as const) : ('trtexec' as const),
    runs: isTrace ? reading.runs : null,
  };
  const stated = { role: 'profile' as const, cell, lone };
  return [await readKeptFiles(path, stated, new Map([[path, name]]), bytes)];
}

/** A profile has times, which the inspector's layers do not have. */
function layersNameOf(bytes: Buffer): string {
  return bytes.includes('"averageMs"') ? LAYER_NAMES.profile : LAYER_NAMES.info;
}

function torchCell(path: string, reading: LoneReading): RunManifest['cell'] {
  const report = {
    harness: TORCH_CELL,
    model: null,
    precision: null,
    shapes: null,
    cudaGraph: null,
    identity: {},
    transfers: null,
  };
  return reportCell(path, report, reading, ['precision', 'shapes', 'cudaGraph']);
}

function trtexecCell(path: string, { stated, isStrict }: LoneReading): RunManifest['cell'] {
  if (stated.model === undefined && isStrict) {
    throw new UsageError(`${printable(path)}: does not say its model; add --model NAME`);
  }
  const { model, precision, shapes } = stated;
  return { model, precision, shapes };
}
