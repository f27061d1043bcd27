import type { TracedRange } from '../../tools/nsys/trace.ts';

/** A range with the one around it. */
export interface OpenRange {
  readonly name: string;
  readonly endNs: number;
  readonly around: OpenRange | null;
}

interface Instant {
  readonly thread: string;
  readonly startNs: number;
}

/**
 * The innermost range in which each of some events lies on its thread; null where it lies in none. Ranges of several
 * domains need not nest: one that was closed before stays around others, and is left out by its end.
 */
export function rangesAround<Event extends Instant>(
  ranges: readonly TracedRange[],
  events: readonly Event[],
): Map<Event, OpenRange | null> {
  const byThread = Map.groupBy(ranges, ({ thread }) => thread);
  const around = new Map<Event, OpenRange | null>();
  for (const [thread, own] of Map.groupBy(events, (event) => event.thread)) {
    const opening = (byThread.get(thread) ?? []).toSorted((a, b) => a.startNs - b.startNs || b.endNs - a.endNs);
    let next = 0;
    let innermost: OpenRange | null = null;
    for (const event of own.toSorted((a, b) => a.startNs - b.startNs)) {
      for (;;) {
        const range = opening[next];
        if (range === undefined || range.startNs > event.startNs) break;
        innermost = closed(innermost, range.startNs);
        innermost = { name: range.name, endNs: range.endNs, around: innermost };
        next += 1;
      }
      innermost = closed(innermost, event.startNs);
      around.set(event, innermost);
    }
  }
  return around;
}

function closed(range: OpenRange | null, nowNs: number): OpenRange | null {
  let open = range;
  while (open !== null && open.endNs < nowNs) open = open.around;
  return open;
}

/** A range and all around it that are open at an instant, the innermost first. */
export function* chainOf(range: OpenRange | null, nowNs: number): Generator<OpenRange> {
  for (let open = range; open !== null; open = open.around) {
    if (open.endNs >= nowNs) yield open;
  }
}
