import { and, desc, eq, sum } from 'drizzle-orm';

import type { Provenance } from '../../records/sweep.ts';
import { isBuilt, isBuildOf } from '../builds/builds.ts';
import { ofSweep, ON } from '../conditions.ts';
import { enginesFolderOf } from '../../files/layout.ts';
import { engineIndex, engineName } from '../../engines/engine-index.ts';
import type { Plan } from '../../records/plan.ts';
import type { OpenStore, StoreDatabase } from '../file/open.ts';
import { builds, runs } from '../schema.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';

interface LastRun {
  readonly cellKey: CellKey;
  /** Mean wall time of the timed runs in that sweep in seconds. */
  readonly wallS: number | null;
  readonly startedAt: string | null;
  readonly gpuUuid: string | null;
}

/** The last measured run of each cell. An index finds it fast, even among many runs. */
function lastRuns({ $client }: StoreDatabase, cellKeys: readonly CellKey[], provenance: Provenance): LastRun[] {
  const statement = $client.prepare<[string, Provenance], LastRun>(`
    select k.value as cellKey,
           (select avg(w.wall_s) from runs w
            where w.sweep_id = last.sweep_id and w.cell_key = k.value and w.role = 'timed'
              and w.outcome = 'measured' and w.wall_s > 0) as wallS,
           last.started_at as startedAt, e.gpu_uuid as gpuUuid
    from json_each(?) as k
    join runs last on last.run_id = (
      select r.run_id from runs r indexed by runs_by_cell
      where r.cell_key = k.value and r.role = 'timed' and r.outcome = 'measured'
        and r.provenance = ?
      order by r.started_at desc limit 1)
    join environments e on e.environment_id = last.environment_id`);
  return statement.all(JSON.stringify(cellKeys), provenance);
}

/**
 * `runS`: mean wall time in seconds of a timed run in the last sweep of each cell; `measuredAt`: time of its last run.
 */
export function pastRunsOf(db: StoreDatabase, cellKeys: readonly CellKey[], provenance: Provenance) {
  const rows = lastRuns(db, cellKeys, provenance);
  return {
    runS: new Map(rows.flatMap(({ cellKey, wallS }) => (wallS === null ? [] : [[cellKey, wallS]]))),
    measuredAt: new Map(rows.flatMap(({ cellKey, startedAt }) => (startedAt === null ? [] : [[cellKey, startedAt]]))),
  };
}

/** What earlier runs and builds took. An engine in the cache takes no time. */
export async function timeEstimates({ db, path }: OpenStore, plan: Plan, provenance: Provenance) {
  const { builds: planned, cells, pauseS = 0 } = plan;
  const { links } = await engineIndex(enginesFolderOf(path)).read();
  const cached = new Set(Object.values(links).map(engineName));
  const buildS = new Map(
    planned.flatMap(({ buildRef, enginePath, flags, model, number }): [string, number][] => {
      const last = enginePath === null ? lastBuildOf(db, model, flags) : null;
      const isThere = last?.engineKey && cached.has(engineName({ engineKey: last.engineKey, number }));
      if (enginePath !== null || isThere) return [[buildRef, 0]];
      return last?.wallS ? [[buildRef, last.wallS]] : [];
    }),
  );
  const keys = cells.map(({ cell }) => cell.key);
  const { measuredAt, runS } = pastRunsOf(db, keys, provenance);
  return { measuredAt, runS: new Map([...runS].map(([key, wallS]) => [key, wallS + pauseS])), buildS };
}

/** Sum of the wall times of a sweep's processes in seconds, including builds. */
export function sweepWallS(db: StoreDatabase, sweepId: SweepId): number {
  const which = and(eq(runs.sweepId, sweepId), ofSweep);
  const wallS = sum(runs.wallS);
  return Number(db.select({ wallS }).from(runs).where(which).get()?.wallS ?? 0);
}

export function lastBuildOf(db: StoreDatabase, model: string, flags: readonly string[]) {
  const which = and(isBuildOf(model, flags), eq(runs.role, 'build'), isBuilt);
  const built = db.select({ engineKey: builds.engineKey, wallS: runs.wallS }).from(builds).innerJoin(runs, ON.build);
  return built.where(which).orderBy(desc(runs.startedAt)).limit(1).get() ?? null;
}

export function lastGpusOf(db: StoreDatabase, cellKeys: readonly CellKey[]): Map<string, string> {
  const rows = lastRuns(db, cellKeys, 'measured');
  return new Map(rows.flatMap(({ cellKey, gpuUuid }) => (gpuUuid === null ? [] : [[cellKey, gpuUuid]])));
}
