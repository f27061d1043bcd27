import type { NsysTrace, TracedPause, TracedSpan } from '../../tools/nsys/read-export.ts';
import type { HostPause } from './layer-kernels.ts';

const NS_PER_MS = 1e6;

/** What held the host up, by its reason, and how long no GPU had work meanwhile. */
export function sumPauses({ copies, kernels, pauses }: NsysTrace): HostPause[] {
  const busy = merged([...kernels, ...copies]);
  const idle = busy.slice(1).map(({ startNs }, place) => ({ startNs: busy[place]?.endNs ?? startNs, endNs: startNs }));
  return [...Map.groupBy(pauses, ({ reason }) => reason)]
    .map(([reason, own]) => pauseOf(reason, own, idle))
    .toSorted((a, b) => b.gpuIdleMs - a.gpuIdleMs || b.ms - a.ms);
}

function pauseOf(reason: TracedPause['reason'], own: readonly TracedPause[], idle: readonly TracedSpan[]): HostPause {
  const spans = merged(own.filter(({ endNs }) => Number.isFinite(endNs)));
  let idleNs = 0;
  let from = 0;
  for (const { startNs, endNs } of spans) {
    while ((idle[from]?.endNs ?? Infinity) <= startNs) from += 1;
    for (let at = from; (idle[at]?.startNs ?? Infinity) < endNs; at += 1) {
      const gap = idle[at];
      if (gap !== undefined) idleNs += Math.min(gap.endNs, endNs) - Math.max(gap.startNs, startNs);
    }
  }
  const ns = spans.reduce((sum, { startNs, endNs }) => sum + endNs - startNs, 0);
  return { reason, count: own.length, ms: ns / NS_PER_MS, gpuIdleMs: idleNs / NS_PER_MS };
}

/** Spans that no longer overlap, in the order of time. */
function merged(spans: readonly TracedSpan[]): TracedSpan[] {
  const apart: { readonly startNs: number; endNs: number }[] = [];
  for (const { startNs, endNs } of spans.toSorted((a, b) => a.startNs - b.startNs)) {
    const last = apart.at(-1);
    if (last !== undefined && startNs <= last.endNs) last.endNs = Math.max(last.endNs, endNs);
    else apart.push({ startNs, endNs });
  }
  return apart;
}
