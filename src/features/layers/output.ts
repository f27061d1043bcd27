import * as z from 'zod';

import { LAYER_CHANGES } from '../../layers/diff-layers.ts';
import { UNATTRIBUTED } from '../../layers/kernels/layer-kernels.ts';
import { count, id, instant, output, type OutputOf, provenance } from '../../records/output-parts.ts';

const engine = {
  ref: z.string(),
  runId: id,
  sweepId: id.nullable().describe('Null for files that are in no store'),
  label: z.string().nullable().describe('Of the cell that was profiled'),
  provenance,
  startedAt: instant.nullable(),
  iterations: count.nullable().describe('Profiled queries; null without a profile'),
  gpuComputeMs: z.number().nullable().describe('Without the profiler'),
  notes: z.array(z.string()),
};
const kind = z.enum(['compute', 'reformat', 'cast', 'shape']);
const share = z.number().min(0).max(1);

export const layers = output('bench layers --json', {
  ...engine,
  totalMs: z.number().nullable().describe('Sum over all layers, with the profiler attached'),
  summary: z.strictObject({
    layers: count,
    totalMs: z.number(),
    overheadMs: z.strictObject({ reformat: z.number(), cast: z.number(), shape: z.number() }),
    opaqueShare: share,
    precisionShares: z.array(z.strictObject({ precision: z.string(), share })),
    olderKernelShare: share,
    newestArchitecture: z.number().nullable(),
    launchFloorMs: z.tuple([z.number(), z.number()]),
  }),
  layers: z.array(
    z.strictObject({
      index: count,
      name: z.string(),
      stableName: z.string().describe('The same in every build'),
      kind,
      type: z.string().nullable(),
      tactic: z.string().nullable(),
      precisionIn: z.string().nullable(),
      precisionOut: z.string().nullable(),
      origins: z.array(z.string()).describe('The ONNX nodes that it came from'),
      nodes: z.array(z.string()).describe('The same without Q/DQ nodes and added casts'),
      block: z.string().nullable(),
      isOpaque: z.boolean(),
      averageMs: z.number(),
    }),
  ),
  aggregate: z
    .strictObject({
      layers: count,
      totalMs: z.number().nullable().describe('Null without a profile'),
      sharePercent: z.number().nullable().describe('Of the time of all layers'),
      minMs: z.number().nullable(),
      meanMs: z.number().nullable(),
      maxMs: z.number().nullable(),
    })
    .nullable()
    .describe('With --agg: of all chosen layers together'),
  groups: z
    .array(
      z.strictObject({
        key: z.string(),
        layers: z.array(count).describe('Indices'),
        totalMs: z.number(),
        minMs: z.number(),
        meanMs: z.number(),
        maxMs: z.number(),
      }),
    )
    .nullable(),
});

export type LayersOutput = OutputOf<typeof layers>;

const milliseconds = z.number().nullable().describe('Null without a profile on both sides');
const side = z.strictObject({ ...engine, layers: count, totalMs: milliseconds });
const change = z.enum(LAYER_CHANGES);
const row = z.strictObject({
  change,
  label: z.string(),
  detail: z.string().nullable(),
  isCause: z.boolean().describe('Kernels changed, and moved more time than equal ones do by chance'),
  baseLayers: count,
  headLayers: count,
  baseMs: milliseconds,
  headMs: milliseconds,
  deltaMs: milliseconds,
  moved: count.describe('Layers that run at another place'),
  parts: z.array(
    z.strictObject({
      base: z.array(z.string()),
      head: z.array(z.string()),
      baseKernels: z.array(z.string().nullable()).describe('Null where nobody named it'),
      headKernels: z.array(z.string().nullable()),
      deltaMs: milliseconds,
    }),
  ),
});

export const layersDiff = output('bench layers --diff --json', {
  base: side,
  head: side,
  deltaMs: milliseconds,
  commonPercent: z.number().nullable().describe('Change of the layers that kept their kernels'),
  rows: z.array(row),
  unknown: row.nullable().describe('Layers whose kernels nobody named'),
  unchanged: row.nullable(),
  unattributed: row.nullable(),
});

export type LayersDiffOutput = OutputOf<typeof layersDiff>;

const sumMs = z.number().min(0);

/** The counts of a capture, layer by layer. */
export const captured = z.strictObject({
  nsysVersion: z.string().nullable(),
  exportSchema: z.string().nullable(),
  queries: count.describe('Calls of the engine, and launches of a graph of it'),
  kernels: count,
  kernelMs: sumMs.describe('Sum over all kernels'),
  busyMs: sumMs.describe('How long any kernel or copy was on the GPU'),
  spanMs: sumMs.describe('From the first of them to the end of the last'),
  gaps: z.strictObject({ withinQueriesMs: sumMs, betweenQueriesMs: sumMs, beforeCopiesMs: sumMs }),
  layers: z.array(
    z.strictObject({
      name: z.string(),
      index: count.nullable().describe('Null for a range that is no layer of the profile'),
      profileMs: sumMs.nullable().describe('Mean of one query by the profile'),
      executions: count.describe('How often it ran: the sums are over all of these'),
      kernels: count,
      kernelMs: sumMs,
      launches: count.describe('Calls that launched them; none of a CUDA graph'),
      gapMs: sumMs.describe('The GPU had nothing to do just before, within a query'),
      kernelNames: z.array(z.string()),
    }),
  ),
  unattributed: z
    .array(z.strictObject({ reason: z.enum(UNATTRIBUTED), kernels: count, kernelMs: sumMs }))
    .describe('Kernels of no layer'),
  copies: z.array(z.strictObject({ kind: z.string(), count, bytes: count, ms: sumMs })),
  calls: z.array(z.strictObject({ name: z.string(), count, ms: sumMs, maxMs: sumMs })),
});

export type Captured = OutputOf<typeof captured>;

export const layersKernels = output('bench layers --kernels --json', {
  label: z.string().nullable(),
  file: z.string(),
  notes: z.array(z.string()),
  ...captured.shape,
});

export type LayersKernelsOutput = OutputOf<typeof layersKernels>;
