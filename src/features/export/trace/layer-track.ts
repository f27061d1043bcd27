import type { JoinedLayer } from '../../../layers/layer-info.ts';
import type { TraceSlice, TraceTrack } from './trace.ts';

/**
 * The mean time of each layer, one behind the other in the order of the engine: where time goes, never when. Null
 * without times.
 */
export function layerTrack(layers: readonly JoinedLayer[]): TraceTrack | null {
  let at = 0;
  const slices: TraceSlice[] = [];
  for (const layer of layers.toSorted((a, b) => a.index - b.index)) {
    const { averageMs, name } = layer;
    if (averageMs === null) continue;
    slices.push({ name, startMs: at, endMs: at + averageMs, facts: factsOf(layer, averageMs) });
    at += averageMs;
  }
  if (slices.length === 0) return null;
  return { name: 'mean time of each layer', count: slices.length, slices: () => slices };
}

function factsOf(layer: JoinedLayer, averageMs: number): Record<string, string | number> {
  const { medianMs, origins, percentage, precisionIn, precisionOut, tactic, type } = layer;
  const facts = {
    meanMs: averageMs,
    medianMs,
    percent: percentage,
    type,
    precisionIn,
    precisionOut,
    tactic,
    onnx: origins.length === 0 ? null : origins.join(', '),
  };
  return Object.fromEntries(Object.entries(facts).flatMap(([name, fact]) => (fact === null ? [] : [[name, fact]])));
}
