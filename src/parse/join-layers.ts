import type { LayerInfo } from '../domain/layer-info.ts';
import type { LayerProfile } from '../domain/trtexec-log.ts';

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

/**
 * Joins the two exports. Names repeat, so the n-th layer of a name in the profile is the n-th of that name in the
 * layer information. Null when there is neither.
 */
export function joinLayers(
  profile: LayerProfile | null,
  info: LayerInfo | null,
): JoinedLayer[] | null {
  if (profile === null) {
    return info === null
      ? null
      : info.layers.map(({ index, name, type, tactic, origins }) => ({
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
  const byName = Map.groupBy(info?.layers ?? [], ({ name }) => name);
  const seen = new Map<string, number>();
  return profile.layers.map((layer) => {
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
