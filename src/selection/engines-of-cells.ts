import { type LayerFacts, layerFactsOf } from '../layers/layer-facts.ts';
import { joinLayers } from '../layers/profiled-engine.ts';
import { type KeyedCell, batchOf, profileFor, profilesIn, cellLabel } from '../records/cell.ts';
import type { CellRun } from '../records/run.ts';
import type { CellKey, RunId, SweepId } from '../records/scalars.ts';
import { loadedEngines } from '../store/builds/builds.ts';
import { findCells } from '../store/cells.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { layerRunsOfCell, layerRunsOfEngine, layerRunsOfFiles } from '../store/runs/layer-runs.ts';
import { findBuilds } from '../store/sweeps/environments.ts';
import { count } from '../terminal/numbers.ts';
import { printable, shortList } from '../text/printable.ts';
import { realPrecision, type RealPrecision } from '../layers/real-precision.ts';
import { runLayers } from '../store/runs/run-details.ts';

type EngineRun = Pick<CellRun, 'buildId' | 'cellKey'>;

/** Cells by the run that has the layers of their engine. `isOwn`: it is a profile of the cell itself. */
export function layerSources(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  runs: readonly EngineRun[],
  sweepIds: readonly SweepId[],
) {
  const buildOfCell = new Map(runs.map(({ cellKey, buildId }) => [cellKey, buildId]));
  const builds = [...new Set(runs.flatMap(({ buildId }) => buildId ?? []))];
  const ofBuild = Map.groupBy(layerRunsOfEngine(db, builds), ({ buildId }) => buildId ?? '');
  const ofFiles = layerRunsOfFiles(db, sweepIds);
  const sources = cells.flatMap((cell) => {
    const buildId = buildOfCell.get(cell.key);
    if (buildId === undefined) return [];
    const ofFile = () => [...layerRunsOfCell(db, cell.key, sweepIds), ...(ofFiles.get(cell.key) ?? [])];
    const ofEngine = buildId === null ? ofFile() : (ofBuild.get(buildId) ?? []);
    const own = ofEngine.find((run) => run.cellKey === cell.key && run.iterations !== null);
    const run = own ?? ofEngine[0];
    return run === undefined ? [] : [{ cell, runId: run.runId, isOwn: own !== undefined }];
  });
  return Map.groupBy(sources, ({ runId }) => runId);
}

export function layersOfRun(db: StoreDatabase, runId: RunId): LayerFacts[] | null {
  const stored = runLayers(db, runId);
  return stored === null ? null : layerFactsOf(joinLayers(stored.profile, stored.layers));
}

/**
 * Actual precisions of the engines of some cells, by cell key. Shares of time need a profile of the cell itself. Shares
 * of layers come from the build, or from another cell of the same engine. Omits cells whose layers are unknown.
 */
export function realPrecisions(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  runs: readonly EngineRun[],
  sweepIds: readonly SweepId[],
): Map<string, RealPrecision> {
  const found = [...layerSources(db, cells, runs, sweepIds)].flatMap(([runId, sources]) => {
    const real = realPrecision(layersOfRun(db, runId) ?? []);
    // A profile without the layers of the inspector may have no types.
    if (Object.keys(real.layerShares).every((type) => type === 'unknown')) return [];
    return sources.map(({ cell, isOwn }) => [cell.key, isOwn ? real : { ...real, timeShares: {} }] as const);
  });
  return new Map(found);
}

/** The batch by cell that its newest engine is tuned for: `opt` of the optimization profile in use. */
export function tunedBatches(db: StoreDatabase, cells: readonly KeyedCell[], runs: readonly EngineRun[]) {
  const buildIds = new Map(runs.map(({ buildId, cellKey }) => [cellKey, buildId ?? '']));
  const builds = findBuilds(db, [...new Set(buildIds.values())]);
  return new Map(
    cells.flatMap(({ key, shapes }): [CellKey, number][] => {
      const batch = tunedBatch(builds.get(buildIds.get(key) ?? '')?.flags ?? [], shapes);
      return batch === null ? [] : [[key, batch]];
    }),
  );
}

/** @param flags options of the engine's build */
export function tunedBatch(flags: readonly string[], shapes: KeyedCell['shapes']): number | null {
  const profiles = profilesIn(flags);
  const profile = Object.entries(profiles[profileFor(shapes, profiles)] ?? {});
  return batchOf(Object.fromEntries(profile.flatMap(([name, { opt }]) => (name in shapes ? [[name, opt]] : []))));
}

/** A note for each cell of a sweep whose imported runs loaded different engine files. */
export function engineNotes(db: StoreDatabase, sweepId: SweepId): string[] {
  const byCell = Map.groupBy(loadedEngines(db, [sweepId]), ({ cellKey }) => cellKey);
  const cells = findCells(db, [...byCell.keys()]);
  return [...byCell].flatMap(([cellKey, runs]) => {
    const cell = cells.get(cellKey);
    const paths = [...new Set(runs.map(({ path }) => path))].toSorted();
    if (cell === undefined || paths.length < 2) return [];
    const named = shortList(paths.map(printable), 3);
    const where = `${count(paths.length, 'engine')} in one cell of sweep ${sweepId.slice(0, 8)}, ${cellLabel(cell)}`;
    return `${where}: ${named}; the median mixes them: import each with a --sweep or --model of its own`;
  });
}
