import type { LayerFacts } from '../layer-facts.ts';

/** Why the layer of a kernel is not known. */
export const UNATTRIBUTED = ['graphNode', 'noCall', 'noRange'] as const;

export type UnattributedReason = (typeof UNATTRIBUTED)[number];

/** The kernels of one layer over a whole capture. */
export interface LayerKernels {
  readonly name: string;
  /** How often the layer ran: times of one query are sums over this. */
  readonly executions: number;
  readonly kernels: number;
  readonly kernelMs: number;
  /** Calls that launched them one by one; those of a graph are launched together and count for no layer. */
  readonly launches: number;
  /** How long the GPU had nothing to do just before these kernels, within a query. */
  readonly gapMs: number;
  readonly kernelNames: readonly string[];
}

export interface CopySum {
  readonly kind: string;
  readonly count: number;
  readonly bytes: number;
  readonly ms: number;
}

export interface CallSum {
  readonly name: string;
  readonly count: number;
  readonly ms: number;
  readonly maxMs: number;
}

/** What a capture says of the work on the GPU and of its launching. */
export interface KernelReport {
  readonly product: string | null;
  readonly schema: string | null;
  /** Calls of the engine, and launches of a graph of it. */
  readonly queries: number;
  readonly kernels: number;
  /** Sum over all kernels. */
  readonly kernelMs: number;
  /** How long any kernel or copy was on the GPU: less than the sum where they overlap. */
  readonly busyMs: number;
  /** From the first of them to the end of the last. */
  readonly spanMs: number;
  readonly gaps: {
    readonly withinQueriesMs: number;
    readonly betweenQueriesMs: number;
    readonly beforeCopiesMs: number;
  };
  /** The longest first. */
  readonly layers: readonly LayerKernels[];
  readonly unattributed: readonly {
    readonly reason: UnattributedReason;
    readonly kernels: number;
    readonly kernelMs: number;
  }[];
  readonly copies: readonly CopySum[];
  readonly calls: readonly CallSum[];
}

/** A layer with the kernels that were captured of it; one side may be missing. */
export interface LayerWithKernels {
  readonly name: string;
  /** Null for a range that is no layer of the profile. */
  readonly layer: LayerFacts | null;
  /** Null for a layer that launched nothing in the capture. */
  readonly kernels: LayerKernels | null;
}

/** By kernel time, then by the profile: what costs most comes first. */
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
