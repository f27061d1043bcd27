import type { layer, OutputOf } from '../records/output-parts.ts';
import type { Provenance } from '../records/sweep.ts';

/** A tensor at the border of an engine layer; both schemas of TensorRT's inspector give this. */
export interface LayerTensor {
  readonly name: string;
  /** -1 for a dimension that is dynamic. */
  readonly dimensions: readonly number[];
  /** `fp32 fp16 bf16 fp8 fp4 int64 int32 int8 int4 uint8 bool`, or what the inspector printed. */
  readonly type: string | null;
  /** Memory layout in the inspector's words; null where it printed the type alone. */
  readonly format: string | null;
}

export interface EngineLayer {
  readonly index: number;
  readonly name: string;
  /** The inspector's `LayerType`; null when the engine was built with names only. */
  readonly type: string | null;
  readonly tactic: string | null;
  readonly inputs: readonly LayerTensor[];
  readonly outputs: readonly LayerTensor[];
  /** ONNX nodes that were fused into this layer, in the inspector's order. */
  readonly origins: readonly string[];
}

/** `--exportLayerInfo`. `names` when the engine was not built with `--profilingVerbosity=detailed`. */
export interface LayerInfo {
  readonly detail: 'names' | 'detailed';
  readonly layers: readonly EngineLayer[];
  readonly bindings: readonly string[];
}

/** One engine layer with what the profile and the inspector say of it. Times are null without a profile. */
export type JoinedLayer = OutputOf<typeof layer>;

export const LAYER_GROUPINGS = ['type', 'precision', 'block', 'scope', 'kind', 'node'] as const;

export type LayerGrouping = (typeof LAYER_GROUPINGS)[number];

/** The layers of one engine as some run saw them. */
export interface ProfiledEngine {
  /** What was asked for, in words. */
  readonly ref: string;
  readonly runId: string;
  /** Null for files that are in no store. */
  readonly sweepId: string | null;
  /** Of the cell that the profile was taken of; null for files, and for builds, which belong to no single cell. */
  readonly cellKey: string | null;
  readonly cellLabel: string | null;
  readonly provenance: Provenance;
  readonly startedAt: string | null;
  readonly layers: readonly JoinedLayer[];
  /** Of one query and all layers, where not all of them are listed. */
  readonly totalMs?: number;
  /** Null when nothing was timed: then only names and kernels are known. */
  readonly iterations: number | null;
  /** Mean GPU compute time without the profiler, of the same run or of the cell's timed runs. */
  readonly gpuComputeMs: number | null;
  /** What makes these times less than they seem. */
  readonly notes: readonly string[];
}
