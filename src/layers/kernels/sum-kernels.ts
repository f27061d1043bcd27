import type { NsysTrace, TracedCall, TracedCopy, TracedSpan } from '../../tools/nsys/read-export.ts';
import { median } from '../../statistics/median.ts';
import { type AttributedKernel, attributeKernels } from './attribute-kernels.ts';
import { sumPauses } from './host-pauses.ts';
import { type CallSum, type CopySum, type KernelReport, type LayerKernels, UNATTRIBUTED } from './layer-kernels.ts';

const NS_PER_MS = 1e6;

/** Sums up kernels, gaps, copies and calls of a capture. `layers` are known layer names; null if unknown. */
export function sumKernels(trace: NsysTrace, layers: ReadonlySet<string> | null): KernelReport {
  const attributed = attributeKernels(trace, layers);
  const gaps = gapsOf(attributed, trace.copies);
  const owned = Map.groupBy(attributed, ({ owner }) => (owner.kind === 'layer' ? owner.layer : null));
  const queries = Map.groupBy(
    attributed.filter(({ query }) => query !== null),
    ({ query }) => query,
  );
  return {
    product: trace.product,
    schema: trace.schema,
    queries: queries.size,
    queryMs: median([...queries.values()].map(spanMs)),
    kernels: attributed.length,
    kernelMs: kernelMs(attributed),
    busyMs: gaps.busyNs / NS_PER_MS,
    spanMs: gaps.spanNs / NS_PER_MS,
    gaps: {
      withinQueriesMs: gaps.withinNs / NS_PER_MS,
      betweenQueriesMs: gaps.betweenNs / NS_PER_MS,
      beforeCopiesMs: gaps.beforeCopiesNs / NS_PER_MS,
    },
    layers: [...owned]
      .flatMap(([name, own]) => (name === null ? [] : layerKernels(name, own, gaps.beforeNs)))
      .toSorted((a, b) => b.kernelMs - a.kernelMs || (a.name < b.name ? -1 : 1)),
    unattributed: UNATTRIBUTED.flatMap((reason) => {
      const own = (owned.get(null) ?? []).filter(({ owner }) => owner.kind === 'unknown' && owner.reason === reason);
      return own.length === 0 ? [] : { reason, kernels: own.length, kernelMs: kernelMs(own) };
    }),
    copies: copySums(trace.copies),
    calls: callSums(trace.calls),
    pauses: sumPauses(trace),
  };
}

function layerKernels(
  name: string,
  own: readonly AttributedKernel[],
  beforeNs: ReadonlyMap<AttributedKernel, number>,
): LayerKernels {
  const executions = new Set(own.flatMap(({ owner }) => (owner.kind === 'layer' ? owner.execution : [])));
  const gapNs = own.reduce((sum, kernel) => sum + (beforeNs.get(kernel) ?? 0), 0);
  return {
    name,
    executions: executions.size,
    kernels: own.length,
    kernelMs: kernelMs(own),
    launches: new Set(own.flatMap(({ launch }) => launch ?? [])).size,
    gapMs: gapNs / NS_PER_MS,
    kernelNames: [...new Set(own.map(({ kernel }) => kernel.name))],
  };
}

/** As CUDA events around the query see it. */
function spanMs(own: readonly AttributedKernel[]): number {
  const first = own.reduce((least, { kernel }) => Math.min(least, kernel.startNs), Infinity);
  return (own.reduce((last, { kernel }) => Math.max(last, kernel.endNs), 0) - first) / NS_PER_MS;
}

/** Sums integer nanoseconds, so that the order does not matter. */
function kernelMs(own: readonly AttributedKernel[]): number {
  return own.reduce((sum, { kernel }) => sum + (kernel.endNs - kernel.startNs), 0) / NS_PER_MS;
}

function copySums(copies: readonly TracedCopy[]): CopySum[] {
  return [...Map.groupBy(copies, ({ kind }) => kind)]
    .map(([kind, own]) => ({
      kind,
      count: own.length,
      bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
      ms: own.reduce((sum, { startNs, endNs }) => sum + endNs - startNs, 0) / NS_PER_MS,
    }))
    .toSorted((a, b) => b.ms - a.ms);
}

function callSums(calls: readonly TracedCall[]): CallSum[] {
  return [...Map.groupBy(calls, ({ name }) => callName(name))]
    .map(([name, own]) => {
      const ns = own.map(({ startNs, endNs }) => endNs - startNs);
      return {
        name,
        count: own.length,
        ms: ns.reduce((sum, each) => sum + each, 0) / NS_PER_MS,
        maxMs: ns.reduce((most, each) => Math.max(most, each), 0) / NS_PER_MS,
      };
    })
    .toSorted((a, b) => b.ms - a.ms);
}

/** Drops the interface version: `cudaLaunchKernel_v7000`. */
function callName(name: string): string {
  return name.replace(/_v\d{4,}$/, '');
}

type Work =
  | { readonly kind: 'kernel'; readonly span: TracedSpan; readonly kernel: AttributedKernel }
  | { readonly kind: 'copy'; readonly span: TracedSpan };

/** Idle time of each device, over all of its streams. */
function gapsOf(kernels: readonly AttributedKernel[], copies: readonly TracedCopy[]) {
  const beforeNs = new Map<AttributedKernel, number>();
  const sum = { withinNs: 0, betweenNs: 0, beforeCopiesNs: 0, busyNs: 0, spanNs: 0 };
  const kernelsOn = Map.groupBy(kernels, ({ kernel }) => kernel.device);
  const copiesOn = Map.groupBy(copies, ({ device }) => device);
  for (const device of new Set([...kernelsOn.keys(), ...copiesOn.keys()])) {
    const work: Work[] = [
      ...(kernelsOn.get(device) ?? []).map((kernel): Work => ({ kind: 'kernel', span: kernel.kernel, kernel })),
      ...(copiesOn.get(device) ?? []).map((span): Work => ({ kind: 'copy', span })),
    ];
    work.sort((a, b) => a.span.startNs - b.span.startNs || a.span.endNs - b.span.endNs);
    let busyUntilNs: number | null = null;
    let query: AttributedKernel['query'] = null;
    for (const item of work) {
      const { startNs, endNs } = item.span;
      const gapNs = busyUntilNs === null ? 0 : Math.max(0, startNs - busyUntilNs);
      if (item.kind === 'copy') {
        sum.beforeCopiesNs += gapNs;
      } else {
        const isSame = item.kernel.query !== null && item.kernel.query === query;
        if (isSame) {
          sum.withinNs += gapNs;
          if (gapNs > 0) beforeNs.set(item.kernel, gapNs);
        } else {
          sum.betweenNs += gapNs;
        }
        ({ query } = item.kernel);
      }
      const from = busyUntilNs === null ? startNs : Math.max(startNs, busyUntilNs);
      sum.busyNs += Math.max(0, endNs - from);
      busyUntilNs = busyUntilNs === null ? endNs : Math.max(busyUntilNs, endNs);
    }
    const [first] = work;
    if (first !== undefined && busyUntilNs !== null) {
      sum.spanNs += busyUntilNs - first.span.startNs;
    }
  }
  return { ...sum, beforeNs };
}
