import type { TracedCopy, TracedSpan } from '../../tools/nsys/trace.ts';
import type { AttributedKernel } from './attribute-kernels.ts';

export interface Gaps {
  /** How long the GPU had nothing to do just before a kernel, within its query. */
  readonly beforeNs: ReadonlyMap<AttributedKernel, number>;
  readonly withinNs: number;
  readonly betweenNs: number;
  readonly beforeCopiesNs: number;
  readonly busyNs: number;
  readonly spanNs: number;
}

type Work =
  | { readonly kind: 'kernel'; readonly span: TracedSpan; readonly kernel: AttributedKernel }
  | { readonly kind: 'copy'; readonly span: TracedSpan };

/** Where the GPU waited: each device by itself, for what any of its streams does next. */
export function gapsOf(kernels: readonly AttributedKernel[], copies: readonly TracedCopy[]): Gaps {
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
