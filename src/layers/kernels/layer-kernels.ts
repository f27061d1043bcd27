import * as z from 'zod';

import { count, type Immutable } from '../../records/scalars.ts';
import type { LayerFacts } from '../layer-facts.ts';

export const UNATTRIBUTED = ['graphNode', 'noCall', 'noRange'] as const;

export type UnattributedReason = (typeof UNATTRIBUTED)[number];

const sumMs = z.number().min(0);

export const layerKernelsSchema = z.strictObject({
  executions: count.describe('How often it ran: the sums are over all of these'),
  kernels: count,
  kernelMs: sumMs,
  /** Those of a graph are launched together and count for no layer. */
  launches: count.describe('Calls that launched them; none of a CUDA graph'),
  gapMs: sumMs.describe('The GPU had nothing to do just before, within a query'),
  kernelNames: z.array(z.string()),
});

export type LayerKernels = { readonly name: string } & Immutable<z.infer<typeof layerKernelsSchema>>;

/** What a capture says of the work on the GPU. */
export const gpuWorkSchema = z.strictObject({
  queries: count.describe('Calls of the engine, and launches of a graph of it'),
  queryMs: sumMs.nullable().describe('Median over them, from the first kernel to the end of the last'),
  kernels: count,
  kernelMs: sumMs.describe('Sum over all kernels'),
  /** Less than the sum where they overlap. */
  busyMs: sumMs.describe('How long any kernel or copy was on the GPU'),
  spanMs: sumMs.describe('From the first of them to the end of the last'),
  gaps: z.strictObject({ withinQueriesMs: sumMs, betweenQueriesMs: sumMs, beforeCopiesMs: sumMs }),
});

export const restOfWorkSchema = z.strictObject({
  unattributed: z
    .array(z.strictObject({ reason: z.enum(UNATTRIBUTED), kernels: count, kernelMs: sumMs }))
    .describe('Kernels of no layer'),
  copies: z.array(z.strictObject({ kind: z.string(), count, bytes: count, ms: sumMs })),
  calls: z.array(z.strictObject({ name: z.string(), count, ms: sumMs, maxMs: sumMs })),
  pauses: z
    .array(
      z.strictObject({
        reason: z.enum(['garbageCollection', 'interpreterLock']),
        count,
        ms: sumMs.describe('Where they overlap, counted once'),
        gpuIdleMs: sumMs.describe('Of it, between the first and the last work, without any work on a GPU'),
      }),
    )
    .describe('When Python held its threads up; as far as the capture recorded it'),
});

type RestOfWork = Immutable<z.infer<typeof restOfWorkSchema>>;

export type CopySum = RestOfWork['copies'][number];

export type CallSum = RestOfWork['calls'][number];

export type HostPause = RestOfWork['pauses'][number];

/** What a capture says of the work on the GPU and of its launching; layers with the longest first. */
export type KernelReport = Immutable<z.infer<typeof gpuWorkSchema>> &
  RestOfWork & {
    readonly product: string | null;
    readonly schema: string | null;
    readonly layers: readonly LayerKernels[];
  };

export interface LayerWithKernels {
  readonly name: string;
  /** Null for a range that is not in the profile. */
  readonly layer: LayerFacts | null;
  /** Null for a layer that launched nothing in the capture. */
  readonly kernels: LayerKernels | null;
}

/** Sorted by kernel time, then by profile time, descending. */
export function joinKernels(layers: readonly LayerFacts[], { layers: captured }: KernelReport): LayerWithKernels[] {
  const byName = new Map(captured.map((each) => [each.name, each]));
  const known = new Set(layers.map(({ name }) => name));
  const rows = [
    ...layers.map((layer) => ({ name: layer.name, layer, kernels: byName.get(layer.name) ?? null })),
    ...captured.filter(({ name }) => !known.has(name)).map((kernels) => ({ name: kernels.name, layer: null, kernels })),
  ];
  return rows.toSorted(
    (a, b) =>
      perExecution(b.kernels) - perExecution(a.kernels) || (b.layer?.averageMs ?? 0) - (a.layer?.averageMs ?? 0),
  );
}

function perExecution(kernels: LayerKernels | null): number {
  return kernels === null ? 0 : kernels.kernelMs / kernels.executions;
}
