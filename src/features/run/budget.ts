import { enginesFolderOf } from '../../files/layout.ts';
import { isMeasured } from '../../records/run.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { UsageError } from '../../errors.ts';
import type { MoreRunsWanted } from '../../judge/adaptive-repeats.ts';
import { printable, shortList } from '../../text/printable.ts';
import type { Sweep, Provenance } from '../../records/sweep.ts';
import { count, formatDuration } from '../../terminal/numbers.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import type { StoreDatabase, OpenStore } from '../../store/file/open.ts';
import type { Io } from '../../cli/io.ts';
import type { SweepOptions } from './command.ts';
import { resolveSide } from '../../selection/sides.ts';
import { EngineIndex, engineName } from '../../engines/engine-index.ts';
import type { Plan } from '../../records/plan.ts';
import { fitBudget } from '../../matrix/plan/assign-gpus.ts';
import { lastBuildOf, pastRunsOf } from '../../store/runs/time-estimates.ts';

/** The request for runs beyond the plan; null for none. */
export async function wantedMoreRuns(
  db: StoreDatabase,
  sweep: Sweep,
  plan: Plan,
  options: SweepOptions,
  io: Io,
): Promise<MoreRunsWanted | null> {
  const { untilSure, budget, maxRepeats, against } = options;
  if (untilSure === undefined && budget === undefined) {
    if (against !== undefined) throw new UsageError('--against needs --until-sure: add --until-sure PERCENT');
    return null;
  }
  const cells = plan.cells.map(({ cell }) => cell);
  const named = against === undefined ? null : (await resolveSide(db, against, io)).sweeps;
  const base = named ?? newestOfEach(db, sweep, cells);
  return {
    untilSurePercent: untilSure ?? null,
    budgetS: budget ?? null,
    maxRepeats,
    baseSweepIds: base.map(({ sweepId }) => sweepId),
    baseIs: named === null ? 'newestOfCell' : 'together',
  };
}

/** Maximum number of sweeps searched; older ones say little about the present state of the machine. */
const LOOKED_BACK = 60;

/** The newest sweep of the series that measured each cell, because the previous sweep may have had other cells. */
function newestOfEach(db: StoreDatabase, sweep: Sweep, cells: readonly KeyedCell[]): Sweep[] {
  const wanted = new Set(cells.map(({ key }) => key));
  return seriesOf(db, sweep, LOOKED_BACK).filter((earlier) => {
    const measured = cellRunsOf(db, [earlier.sweepId]).filter(isMeasured);
    return measured.filter(({ cellKey }) => wanted.delete(cellKey)).length > 0;
  });
}

/**
 * Removes cells until the rest fits into the time, and returns a note on them.
 * @param sides number of sides that each run is made for; the time is divided by it
 */
export async function withinBudget(
  store: OpenStore,
  plan: Plan,
  provenance: Provenance,
  budgetS: number | null,
  { gpus = 1, sides = 1 }: { readonly gpus?: number; readonly sides?: number },
): Promise<{ readonly plan: Plan; readonly note: string | null }> {
  if (budgetS === null) return { plan, note: null };
  const keys = plan.cells.map(({ cell }) => cell.key);
  const past = pastRunsOf(store.db, keys, provenance);
  const { links } = await new EngineIndex(enginesFolderOf(store.path)).read();
  const cached = new Set(Object.values(links).map(engineName));
  const buildS = new Map(
    plan.builds.flatMap((build): [string, number][] => {
      const last = build.enginePath === null ? lastBuildOf(store.db, build.model, build.flags) : null;
      const isThere = last?.engineKey && cached.has(engineName({ engineKey: last.engineKey, number: build.number }));
      if (build.enginePath !== null || isThere) return [[build.buildRef, 0]];
      return last?.wallS ? [[build.buildRef, last.wallS]] : [];
    }),
  );
  const { leftOut, leftOutS, plan: fitted } = fitBudget(plan, budgetS / sides, { ...past, buildS }, gpus);
  if (leftOut.length === 0) return { plan: fitted, note: null };
  const names = shortList(
    leftOut.map(({ label }) => printable(label)),
    NAMED_CELLS,
  );
  const cells = `${leftOut.length} of ${count(plan.cells.length, 'cell')} (about ${formatDuration(sides * leftOutS)})`;
  const note = `the budget of ${formatDuration(budgetS)} leaves out ${cells}; they come first next time: ${names}`;
  return { plan: fitted, note };
}

const NAMED_CELLS = 6;
