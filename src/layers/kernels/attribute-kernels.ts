import type {
  NsysTrace,
  TracedCall,
  TracedGraphNode,
  TracedKernel,
  TracedRange,
} from '../../tools/nsys/read-export.ts';
import type { UnattributedReason } from './layer-kernels.ts';

export type KernelOwner =
  | { readonly kind: 'layer'; readonly layer: string; readonly execution: string | OpenRange }
  | { readonly kind: 'unknown'; readonly reason: UnattributedReason };

export interface AttributedKernel {
  readonly kernel: TracedKernel;
  readonly owner: KernelOwner;
  /** Equal for all kernels of one engine call or one graph launch; null if unknown. */
  readonly query: string | OpenRange | null;
  /** The call that launched this kernel; null for a kernel of a graph. */
  readonly launch: TracedCall | null;
}

/** TensorRT's own range around the layers; not a layer. */
const WHOLE_QUERY = /^ExecutionContext::/;

/** Limit for following a graph node back to the captured one. */
const MOST_CLONES = 16;

/**
 * Attributes each kernel to a layer. A layer opens a range on the launching thread, so a kernel belongs to the range
 * around its launch call. A graph is launched as a whole: its kernels belong to the range in which their node was
 * captured.
 * @param layers known layer names; null if unknown
 */
export function attributeKernels(
  { kernels, calls, ranges, graphNodes }: NsysTrace,
  layers: ReadonlySet<string> | null,
): AttributedKernel[] {
  const callOf = new Map(
    calls.flatMap((call): [string, TracedCall][] =>
      call.correlation === null ? [] : [[`${call.process} ${call.correlation}`, call]],
    ),
  );
  const nodes = new Map<string, TracedGraphNode>();
  for (const node of graphNodes) {
    const key = `${node.process} ${node.node}`;
    if (!nodes.has(key)) nodes.set(key, node);
  }
  const aroundCall = rangesAround(ranges, calls);
  const aroundNode = rangesAround(ranges, graphNodes);
  return kernels.map((kernel): AttributedKernel => {
    const { correlation, graphNode, process } = kernel;
    const call = correlation === null ? undefined : callOf.get(`${process} ${correlation}`);
    if (graphNode !== null) {
      const launch = `graph ${process} ${correlation ?? '?'}`;
      const node = capturedNode(nodes, process, graphNode);
      const range = node === null ? null : (aroundNode.get(node) ?? null);
      const layer = node === null ? null : layerIn(range, node.startNs, layers);
      return {
        kernel,
        query: launch,
        launch: null,
        owner:
          layer === null
            ? { kind: 'unknown', reason: node === null ? 'graphNode' : 'noRange' }
            : { kind: 'layer', layer: layer.name, execution: launch },
      };
    }
    if (call === undefined) {
      return { kernel, query: null, launch: null, owner: { kind: 'unknown', reason: 'noCall' } };
    }
    const range = aroundCall.get(call) ?? null;
    const layer = layerIn(range, call.startNs, layers);
    return {
      kernel,
      query: queryIn(range, call.startNs),
      launch: call,
      owner:
        layer === null
          ? { kind: 'unknown', reason: 'noRange' }
          : { kind: 'layer', layer: layer.name, execution: layer },
    };
  });
}

/** The originally captured node: a graph launches clones. */
function capturedNode(
  nodes: ReadonlyMap<string, TracedGraphNode>,
  process: string,
  id: string,
): TracedGraphNode | null {
  let node = nodes.get(`${process} ${id}`) ?? null;
  for (let step = 0; step < MOST_CLONES; step += 1) {
    if (node === null || node.original === null || node.original === node.node) return node;
    node = nodes.get(`${process} ${node.original}`) ?? null;
  }
  return node;
}

/** The innermost range that is a known layer; without known layers, the innermost that is not TensorRT's own. */
function layerIn(range: OpenRange | null, nowNs: number, layers: ReadonlySet<string> | null): OpenRange | null {
  let first: OpenRange | null = null;
  for (const open of chainOf(range, nowNs)) {
    if (WHOLE_QUERY.test(open.name)) break;
    if (layers?.has(open.name) === true) return open;
    first ??= open;
  }
  return first;
}

function queryIn(range: OpenRange | null, nowNs: number): OpenRange | null {
  let outermost: OpenRange | null = null;
  for (const open of chainOf(range, nowNs)) {
    outermost = open;
    if (WHOLE_QUERY.test(open.name)) break;
  }
  return outermost;
}

interface OpenRange {
  readonly name: string;
  readonly endNs: number;
  readonly around: OpenRange | null;
}

interface Instant {
  readonly thread: string;
  readonly startNs: number;
}

/** Null if there is none. Ranges of several domains need not nest: one that closed earlier is skipped by its end. */
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

export function* chainOf(range: OpenRange | null, nowNs: number): Generator<OpenRange> {
  for (let open = range; open !== null; open = open.around) {
    if (open.endNs >= nowNs) yield open;
  }
}
