import { layerFactsOf } from '../analyse/layers/layer-facts.ts';
import { realPrecision, type RealPrecision } from '../analyse/layers/real-precision.ts';
import { joinLayers } from '../parse/join-layers.ts';
import { type LayerRun, layerRunsOfEngine } from '../store/layer-runs.ts';
import type { StoreDatabase } from '../store/open.ts';
import { runLayers } from '../store/show-run.ts';

interface EngineRun {
  readonly cellKey: string;
  readonly buildId: string | null;
}

/**
 * What the engines of some runs really compute in, by the key of the cell. Shares of time need a profile of the cell
 * itself; shares of layers are known from the build. Cells whose engine tells nothing of its layers are absent.
 */
export function realPrecisions(
  db: StoreDatabase,
  runs: readonly EngineRun[],
): Map<string, RealPrecision> {
  const builds = [...new Set(runs.flatMap(({ buildId }) => buildId ?? []))];
  const sources = Map.groupBy(layerRunsOfEngine(db, builds), ({ buildId }) => buildId ?? '');
  const known = new Map<string, RealPrecision>();
  const found = new Map<string, RealPrecision>();
  const read = ({ runId }: LayerRun): RealPrecision | null => {
    const before = known.get(runId);
    if (before !== undefined) return before;
    const stored = runLayers(db, runId);
    if (stored === null) return null;
    const real = realPrecision(layerFactsOf(joinLayers(stored.profile, stored.layers)));
    known.set(runId, real);
    return real;
  };
  for (const { cellKey, buildId } of runs) {
    if (found.has(cellKey) || buildId === null) continue;
    const ofEngine = sources.get(buildId) ?? [];
    const own = ofEngine.find((run) => run.cellKey === cellKey && run.iterations !== null);
    const any = own ?? ofEngine.find(({ iterations }) => iterations === null) ?? ofEngine[0];
    const real = any === undefined ? null : read(any);
    if (real !== null) found.set(cellKey, own === undefined ? { ...real, timeShares: {} } : real);
  }
  return found;
}
