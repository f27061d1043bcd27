import type { EngineLayer } from '../domain/layer-info.ts';
import type { ParsedRun } from '../domain/parsed-run.ts';
import type { LayerTime } from '../domain/trtexec-log.ts';

/** One engine layer with what the profile and the inspector say of it. Times are null without a profile. */
export interface JoinedLayer {
  readonly index: number;
  readonly name: string;
  readonly timeMs: number | null;
  readonly averageMs: number | null;
  readonly medianMs: number | null;
  readonly percentage: number | null;
  readonly type: string | null;
  readonly tactic: string | null;
  readonly origins: readonly string[];
}

/** The layers of a run; null when it says nothing of them. */
export function layersOf({
  log,
  exports,
}: Pick<ParsedRun, 'log' | 'exports'>): JoinedLayer[] | null {
  const profile = exports.profile ?? log.profile;
  if (profile === null && exports.layerInfo === null) return null;
  return joinLayers(profile?.layers ?? null, exports.layerInfo?.layers ?? []);
}

/**
 * Joins the two exports. Names repeat, so the n-th layer of a name in the profile is the n-th of that name in the
 * layer information.
 */
export function joinLayers(
  profile: readonly LayerTime[] | null,
  layers: readonly EngineLayer[],
): JoinedLayer[] {
  if (profile === null) {
    return layers.map(({ index, name, type, tactic, origins }) => ({
      index,
      name,
      timeMs: null,
      averageMs: null,
      medianMs: null,
      percentage: null,
      type,
      tactic,
      origins,
    }));
  }
  const byName = Map.groupBy(layers, ({ name }) => name);
  const seen = new Map<string, number>();
  return profile.map((layer) => {
    const nth = seen.get(layer.name) ?? 0;
    seen.set(layer.name, nth + 1);
    const engineLayer = byName.get(layer.name)?.[nth];
    return {
      ...layer,
      type: engineLayer?.type ?? null,
      tactic: engineLayer?.tactic ?? null,
      origins: engineLayer?.origins ?? [],
    };
  });
}
