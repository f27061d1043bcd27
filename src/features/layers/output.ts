import * as z from 'zod';

import { layerFactsSchema } from '../../layers/layer-facts.ts';
import { efficiencySchema, engineEfficiencySchema } from '../../layers/work/efficiency.ts';
import { layersSummarySchema } from '../../layers/summarize-layers.ts';
import { LAYER_CHANGES } from '../../layers/diff-layers.ts';
import { capturedWorkSchema } from '../../tools/nsys/read-export.ts';
import { count, id, instant, output, type OutputOf, provenance } from '../../records/output-parts.ts';
import { numberOrNull } from '../../records/scalars.ts';

const engine = {
  ref: z.string(),
  runId: id,
  sweepId: id.nullable().describe('Null for files that are in no store'),
  label: z.string().nullable().describe('Label of the profiled cell'),
  provenance,
  startedAt: instant.nullable(),
  iterations: count.nullable().describe('Profiled queries; null without a profile'),
  gpuComputeMs: numberOrNull.describe('Median GPU compute time, without the profiler'),
  notes: z.array(z.string()),
};
const range = { minMs: numberOrNull, meanMs: numberOrNull, maxMs: numberOrNull };
const spread = { totalMs: z.number(), minMs: z.number(), meanMs: z.number(), maxMs: z.number() };

export const layers = output('bench layers --json', {
  ...engine,
  totalMs: numberOrNull.describe('Sum over all layers, with the profiler attached'),
  medianMs: numberOrNull.describe('Sum of the medians; null before TensorRT 8.4, which printed none'),
  overheadPercent: numberOrNull.describe('Excess of medianMs over gpuComputeMs; never used by the gate'),
  summary: layersSummarySchema,
  layers: z.array(
    layerFactsSchema.extend({ efficiency: efficiencySchema.nullable().describe('Null without the ONNX model') }),
  ),
  efficiency: engineEfficiencySchema.describe('Efficiency of the whole engine'),
  aggregate: z
    .strictObject({
      layers: count,
      totalMs: numberOrNull.describe('Null without a profile'),
      sharePercent: numberOrNull.describe('Share of the time of all layers'),
      ...range,
    })
    .nullable()
    .describe('With --agg: total of all selected layers'),
  groups: z
    .array(z.strictObject({ key: z.string(), layers: z.array(count).describe('Indices into layers'), ...spread }))
    .nullable(),
});

export type LayersOutput = OutputOf<typeof layers>;

const milliseconds = numberOrNull.describe('Null without a profile on both sides');
const times = { baseMs: milliseconds, headMs: milliseconds, deltaMs: milliseconds };
const listedMs = milliseconds.describe('Time of the listed layers; less than totalMs if some are not listed');
const { opaqueShare } = layersSummarySchema.shape;
const side = z.strictObject({ ...engine, layers: count, totalMs: milliseconds, listedMs, opaqueShare });
const row = z.strictObject({
  change: z.enum(LAYER_CHANGES),
  label: z.string(),
  detail: z.string().nullable(),
  isCause: z.boolean().describe('True if the time changed by more than chance'),
  baseLayers: count,
  headLayers: count,
  ...times,
  parts: z.array(
    z.strictObject({
      base: z.array(z.string()),
      head: z.array(z.string()),
      baseKernels: z.array(z.string().nullable()).describe('Null if the layer information does not name the kernel'),
      headKernels: z.array(z.string().nullable()),
      ...times,
    }),
  ),
});

export const layersDiff = output('bench layers --diff --json', {
  base: side,
  head: side,
  deltaMs: milliseconds.describe('Change per query; null without a profile, or if some layers are not listed'),
  commonPercent: numberOrNull.describe('Change of the layers that kept their kernels'),
  rows: z.array(row),
  unknown: row.nullable().describe('Layers with unknown kernels'),
  unchanged: row.nullable(),
  unattributed: row.nullable(),
});

export type LayersDiffOutput = OutputOf<typeof layersDiff>;

const nodes = z.array(z.string()).describe('ONNX nodes of the profiled layers with this kernel as tactic');
const kernel = capturedWorkSchema.shape.kernels.element.extend({ nodes });

export const captured = capturedWorkSchema.extend({ kernels: z.array(kernel) });

export type Captured = OutputOf<typeof captured>;

const capture = { label: z.string().nullable(), file: z.string(), notes: z.array(z.string()) };

export const layersKernels = output('bench layers --kernels --json', { ...capture, ...captured.shape });

export type LayersKernelsOutput = OutputOf<typeof layersKernels>;
