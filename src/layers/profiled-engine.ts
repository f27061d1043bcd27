import type { layer, OutputOf } from '../records/output-parts.ts';
import type { Shapes } from '../records/cell.ts';
import type { Provenance } from '../records/sweep.ts';
import type { CellKey, RunId, SweepId } from '../records/scalars.ts';
import type { Environment } from '../records/environment.ts';
import type { EngineLayer, LayerProfile, LayerTensor, LayerTime } from '../records/layer-info.ts';
import type { ParsedRun } from '../trtexec/log/derived.ts';

/** One engine layer from profile and inspector. Times are null without a profile. */
export type JoinedLayer = OutputOf<typeof layer>;

export interface EngineConditions extends Pick<Environment, 'computeCapability' | 'gpuName' | 'maxSmClockMhz' | 'mig'> {
  /** SM clock measured during the run, in MHz. */
  readonly smClockMhz: number | null;
}

export interface ProfiledEngine {
  readonly ref: string;
  readonly runId: RunId;
  /** Null for files outside a store. */
  readonly sweepId: SweepId | null;
  /** Cell of the profile; null for files and for builds, which belong to no single cell. */
  readonly cellKey: CellKey | null;
  readonly cellLabel: string | null;
  /** Launched as a CUDA graph; null if unknown. */
  readonly cudaGraph: boolean | null;
  readonly provenance: Provenance;
  readonly startedAt: string | null;
  readonly layers: readonly JoinedLayer[];
  /** Sum over all layers of one query, if not all of them are listed. */
  readonly total?: Pick<LayerTime, 'averageMs' | 'medianMs'> | undefined;
  /** Null if nothing was timed, so that only names and kernels are known. */
  readonly iterations: number | null;
  /** Median GPU compute time without the profiler in ms, of the same run or of the timed runs of the cell. */
  readonly gpuComputeMs: number | null;
  readonly notes: readonly string[];
  /** Conditions that files outside a store contain. */
  readonly stated?: { readonly conditions: EngineConditions; readonly shapes: Shapes };
}

export function profileOf({ log, exports }: Pick<ParsedRun, 'log' | 'exports'>): LayerProfile | null {
  return exports.profile ?? log.profile;
}

/** Null if the run has no layer data. */
export function layersOf({ log, exports }: Pick<ParsedRun, 'log' | 'exports'>): JoinedLayer[] | null {
  const profile = profileOf({ log, exports });
  const info = exports.layerInfo ?? log.layerInfo;
  if (profile === null && info === null) return null;
  return joinLayers(profile?.layers ?? null, info ?? []);
}

/**
 * Overhead of the profiler, from medians: that of the last row of a printed table, else the sum of the layers' medians.
 */
export function overheadOf({ layers, total, gpuComputeMs }: Pick<ProfiledEngine, 'layers' | 'total' | 'gpuComputeMs'>) {
  const ofLayers = layers.reduce<number | null>(
    (sum, { medianMs }) => (sum === null || medianMs === null ? null : sum + medianMs),
    0,
  );
  const medianMs = (total === undefined ? ofLayers : total.medianMs) || null;
  const overheadPercent = medianMs === null || gpuComputeMs === null ? null : (medianMs / gpuComputeMs - 1) * 100;
  return { medianMs, overheadPercent };
}

/**
 * Joins layers by name. Names repeat, so the n-th layer of a name in the profile is the n-th of that name in the layer
 * information.
 */
export function joinLayers(profile: readonly LayerTime[] | null, layers: readonly EngineLayer[]): JoinedLayer[] {
  const byName = Map.groupBy(layers, ({ name }) => name);
  const seen = new Map<string, number>();
  const untimed = { timeMs: null, averageMs: null, medianMs: null, percentage: null };
  return (profile ?? layers.map(({ index, name }) => ({ index, name, ...untimed }))).map((layer) => {
    const nth = seen.get(layer.name) ?? 0;
    seen.set(layer.name, nth + 1);
    return { ...layer, ...inspected(byName.get(layer.name)?.[nth]) };
  });
}

function inspected(layer: EngineLayer | undefined) {
  return {
    type: layer?.type ?? null,
    tactic: layer?.tactic ?? null,
    precisionIn: precisionOf(layer?.inputs ?? []),
    precisionOut: precisionOf(layer?.outputs ?? []),
    channels: layer === undefined ? null : channelsOf(layer),
    inputs: layer?.inputs ?? [],
    outputs: layer?.outputs ?? [],
    origins: layer?.origins ?? [],
  };
}

/** Matches convolutions; those of Myelin have the type `correlation`. */
export function isConvolution(type: string | null): boolean {
  return /conv|correlation/i.test(type ?? '');
}

/** Channels of convolutions and products. Products of Myelin have the type `gemm`, or `fusion` with such a kernel. */
function channelsOf({ type, tactic, inputs, outputs }: EngineLayer): [number, number] | null {
  const isProduct = /gemm|matrixmultiply/i.test(type === 'fusion' ? (tactic ?? '') : (type ?? ''));
  if (!isConvolution(type) && !isProduct) return null;
  const place = isConvolution(type) ? 1 : -1;
  const [from, to] = [inputs[0]?.dimensions.at(place), outputs[0]?.dimensions.at(place)];
  return from === undefined || to === undefined ? null : [from, to];
}

/** Types of indices and shapes, which are not the precision that a layer computes in. */
const INDEX_TYPES = new Set(['int64', 'int32', 'bool']);

function precisionOf(tensors: readonly LayerTensor[]): string | null {
  const values = tensors.find(({ type }) => type !== null && !INDEX_TYPES.has(type));
  return (values ?? tensors[0])?.type ?? null;
}
