import type { EngineLayer, LayerTensor } from './layer-info.ts';
import type { JoinedLayer } from './profiled-engine.ts';
import type { ParsedRun } from '../trtexec/run-facts.ts';
import type { LayerProfile, LayerTime } from '../trtexec/log/parsed-log.ts';

export function profileOf({ log, exports }: Pick<ParsedRun, 'log' | 'exports'>): LayerProfile | null {
  return exports.profile ?? log.profile;
}

/** Null if the run has no layer data. */
export function layersOf({ log, exports }: Pick<ParsedRun, 'log' | 'exports'>): JoinedLayer[] | null {
  const profile = profileOf({ log, exports });
  const info = exports.layerInfo ?? log.layerInfo;
  if (profile === null && info === null) return null;
  return joinLayers(profile?.layers ?? null, info?.layers ?? []);
}

/** Names repeat: the n-th of a name in the profile is the n-th of that name in the layer information. */
export function joinLayers(profile: readonly LayerTime[] | null, layers: readonly EngineLayer[]): JoinedLayer[] {
  if (profile === null) {
    const untimed = { timeMs: null, averageMs: null, medianMs: null, percentage: null };
    return layers.map((layer) => ({ index: layer.index, name: layer.name, ...untimed, ...inspected(layer) }));
  }
  const byName = Map.groupBy(layers, ({ name }) => name);
  const seen = new Map<string, number>();
  return profile.map((layer) => {
    const nth = seen.get(layer.name) ?? 0;
    seen.set(layer.name, nth + 1);
    return { ...layer, ...inspected(byName.get(layer.name)?.[nth]) };
  });
}

function inspected(layer: EngineLayer | undefined) {
  return {
    type: layer?.type ?? null,
    tactic: layer?.tactic ?? null,
    precisionIn: precisionOf(layer?.inputs ?? []),
    precisionOut: precisionOf(layer?.outputs ?? []),
    origins: layer?.origins ?? [],
  };
}

/** Types of indices and shapes: not the precision that a layer computes in. */
const INDEX_TYPES = new Set(['int64', 'int32', 'bool']);

function precisionOf(tensors: readonly LayerTensor[]): string | null {
  const values = tensors.find(({ type }) => type !== null && !INDEX_TYPES.has(type));
  return (values ?? tensors[0])?.type ?? null;
}
