import * as z from 'zod';

import { type Immutable, textOrNull } from './scalars.ts';

/** An input or output tensor of an engine layer, from either inspector schema. */
export const layerTensorSchema = z.strictObject({
  name: z.string(),
  dimensions: z.array(z.number()).describe('-1 for a dynamic dimension'),
  /** `fp32 fp16 bf16 fp8 fp4 int64 int32 int8 int4 uint8 bool`, or the inspector's text. */
  type: textOrNull,
  format: textOrNull.describe('Memory layout; null if only the type is known'),
});

export type LayerTensor = Immutable<z.infer<typeof layerTensorSchema>>;

export interface EngineLayer {
  readonly index: number;
  readonly name: string;
  /** The inspector's `LayerType`; null if the engine was built with names only. */
  readonly type: string | null;
  readonly tactic: string | null;
  readonly inputs: readonly LayerTensor[];
  readonly outputs: readonly LayerTensor[];
  /** ONNX nodes that were fused into this layer, in the inspector's order. */
  readonly origins: readonly string[];
}

export interface LayerTime {
  readonly index: number;
  readonly name: string;
  readonly timeMs: number;
  readonly averageMs: number;
  /** Absent before TensorRT 8.4. */
  readonly medianMs: number | null;
  readonly percentage: number;
}

/** Times of each engine layer with the profiler attached: never a measure of the end-to-end time. */
export interface LayerProfile {
  /** Profiled iterations, including warmup. */
  readonly iterations: number;
  readonly layers: readonly LayerTime[];
  /** Times of all layers, if the table is an excerpt whose last row states them. */
  readonly total?: Pick<LayerTime, 'timeMs' | 'averageMs' | 'medianMs'>;
}

export const LAYER_GROUPINGS = ['type', 'precision', 'block', 'scope', 'kind', 'node'] as const;

export type LayerGrouping = (typeof LAYER_GROUPINGS)[number];
