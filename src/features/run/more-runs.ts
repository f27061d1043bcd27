import {
  anotherRun,
  type GrowingRuns,
  highestRepeat,
  type MoreRunsWanted,
  newestRun,
  plannedRunS,
  timeBudget,
  undecided,
} from '../../judge/adaptive-repeats.ts';
import { type KeyedCell, cellLabel } from '../../records/cell.ts';
import type { Plan, PlannedRun } from '../../records/plan.ts';
import type { Provenance, Sweep } from '../../records/sweep.ts';
import { seededRandom, shuffled } from '../../matrix/plan/order.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import type { OpenStore, StoreDatabase } from '../../store/file/open.ts';
import { earlierSweeps, pastOf } from '../../selection/cell-histories.ts';
import { UsageError } from '../../errors.ts';
import { printable, shortList } from '../../text/printable.ts';
import { count, formatDuration } from '../../terminal/numbers.ts';
import { seriesOf } from '../../store/sweeps/find-sweeps.ts';
import type { Io } from '../../cli/io.ts';
import type { SweepContext } from '../../run/sweep-context.ts';
import type { SweepOptions } from './command.ts';
import { resolveSide } from '../../selection/sides.ts';
import { fitBudget } from '../../matrix/plan/assign-gpus.ts';
import { timeEstimates } from '../../store/runs/time-estimates.ts';
import type { CellKey } from '../../records/scalars.ts';

/** The detectable effect to aim at when only a budget is given; depends on the noise of the cell. */
const WORTH_TELLING = { percent: 1.5, deviations: 4 };

interface MoreRunsContext extends Pick<SweepContext, 'db' | 'now' | 'plan' | 'sweep'> {
  readonly wanted: MoreRunsWanted;
  /** Runs available per cell. */
  readonly recorded: (cellKey: CellKey) => number;
  readonly onNote: (text: string) => void;
}

/**
 * The next round of runs beyond the plan, computed from the store, so that it continues after a kill. Empty when there
 * are enough runs, or the time is over.
 */
export function moreRuns({ db, now, onNote, plan, recorded, sweep, wanted }: MoreRunsContext): () => PlannedRun[] {
  const { baseSweepIds, budgetS, maxRepeats, untilSurePercent } = wanted;
  const fitting = timeBudget(budgetS, now);
  const goal = untilSurePercent === null ? WORTH_TELLING : { percent: untilSurePercent, deviations: 0 };
  return () => {
    const timed = cellRunsOf(db, [sweep.sweepId]).filter(({ role }) => role === 'timed');
    const made = Map.groupBy(timed, ({ cellKey }) => cellKey);
    const base = baseRuns(db, wanted);
    const cells = plan.cells.flatMap(({ cell }): GrowingRuns<CellRun>[] => {
      const head = made.get(cell.key) ?? [];
      const isOver = newestRun(head)?.outcome.kind !== 'measured';
      const runs = { base: base.get(cell.key)?.filter(isMeasured) ?? [], head, rounds: highestRepeat(head) };
      return [{ cell, ...runs, capacity: recorded(cell.key), roundS: plannedRunS(plan, cell.key), isOver }];
    });
    const earlier = earlierSweeps(db, sweep, [sweep.sweepId, ...baseSweepIds]);
    const compared = cells.map(({ cell, base: before, head }) => ({ cell, runs: [...before, ...head] }));
    const past = pastOf(db, earlier, compared, null);
    const enough = { goal, maxRepeats, metric: null, repeats: plan.repeats };
    const round = fitting(undecided(cells, enough, past).open, ({ roundS }) => roundS);
    if (round.length === 0 && untilSurePercent !== null) {
      const unlimited = cells.map((cell) => ({ ...cell, capacity: Infinity }));
      const { limited, open } = undecided(unlimited, { ...enough, maxRepeats: Infinity }, past);
      for (const [why, all] of [
        ['--max-repeats, --budget', open],
        ['sweeps differ by more than runs explain: more runs do not help', limited],
      ] as const) {
        const where = `${all.length} of ${count(cells.length, 'cell')} (${why})`;
        const labels = all.map(({ cell }) => printable(cellLabel(cell)));
        if (all.length > 0)
          onNote(`${untilSurePercent} % is not detectable yet in ${where}: ${shortList(labels, NAMED_CELLS)}`);
      }
    }
    const runs = round.flatMap(({ cell, head }) => anotherRun(plan, cell.key, head));
    const number = Math.max(0, ...runs.map(({ repeat }) => repeat));
    // With a time limit, the most useful cells come first; otherwise each round is shuffled, as in the plan.
    return budgetS === null ? shuffled(runs, seededRandom(plan.seed + number)) : runs;
  };
}

function baseRuns(
  db: StoreDatabase,
  { baseIs, baseSweepIds }: MoreRunsWanted,
): ReadonlyMap<CellKey, readonly CellRun[]> {
  const all = Map.groupBy(cellRunsOf(db, baseSweepIds), ({ cellKey }) => cellKey);
  if (baseIs === 'together') return all;
  return new Map(
    [...all].map(([key, runs]) => {
      const newest = baseSweepIds.find((id) => runs.some((run) => run.sweepId === id && isMeasured(run)));
      return [key, runs.filter(({ sweepId }) => sweepId === newest)];
    }),
  );
}

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
  budgetS: number | undefined,
  { gpus = 1, sides = 1 }: { readonly gpus?: number; readonly sides?: number },
): Promise<{ readonly plan: Plan; readonly note: string | null }> {
  if (budgetS === undefined) return { plan, note: null };
  const known = await timeEstimates(store, plan, provenance);
  const { keptS, leftOut, leftOutS, plan: fitted } = fitBudget(plan, budgetS / sides, known, gpus);
  const budget = `the budget of ${formatDuration(budgetS)}`;
  // The cell that waited longest is measured in any case.
  const over =
    sides * keptS > budgetS ? `${budget} is too short for one cell: about ${formatDuration(sides * keptS)}` : null;
  if (leftOut.length === 0) return { plan: fitted, note: over };
  const labels = leftOut.map(({ label }) => printable(label));
  const cells = `${leftOut.length} of ${count(plan.cells.length, 'cell')} (about ${formatDuration(sides * leftOutS)})`;
  const left = `leaves out ${cells}; they come first next time: ${shortList(labels, NAMED_CELLS)}`;
  return { plan: fitted, note: over === null ? `${budget} ${left}` : `${over}; it ${left}` };
}

const NAMED_CELLS = 6;
