import { type KeyedCell, batchOf, profileFor, profilesIn } from '../records/cell.ts';
import type { CellRun } from '../records/run.ts';
import type { CellKey } from '../records/scalars.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { findBuilds } from '../store/sweeps/environments.ts';

/** The batch by cell that its newest engine is tuned for: `opt` of the optimization profile in use. */
export function tunedBatches(
  db: StoreDatabase,
  cells: readonly KeyedCell[],
  runs: readonly Pick<CellRun, 'buildId' | 'cellKey'>[],
): Map<CellKey, number> {
  const buildIds = new Map(runs.map(({ buildId, cellKey }) => [cellKey, buildId]));
  const builds = findBuilds(db, [...new Set([...buildIds.values()].flatMap((id) => id ?? []))]);
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
