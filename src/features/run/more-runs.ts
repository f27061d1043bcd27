import {
  anotherRun,
  cellsToRepeat,
  growingCell,
  highestRepeat,
  type MoreRunsWanted,
  newestRun,
  plannedRunS,
  timeBudget,
} from '../../judge/adaptive-repeats.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { printable } from '../../text/printable.ts';
import { count } from '../../terminal/numbers.ts';
import { gateMetric } from '../../records/metric.ts';
import type { Plan, PlannedRun } from '../../records/plan.ts';
import type { Sweep } from '../../records/sweep.ts';
import { seededRandom, shuffled } from '../../matrix/plan/order.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { type CellRun, isMeasured } from '../../records/run.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { earlierSweeps, pastOf } from '../../selection/cell-histories.ts';
import type { CellKey } from '../../records/scalars.ts';
import { shortList } from '../../text/short-list.ts';

/** With a budget alone: the detectable effect aimed at, by the noise of the cell. */
const WORTH_TELLING = { percent: 0.8, deviations: 2 };

export interface MoreRunsContext {
  readonly db: StoreDatabase;
  readonly sweep: Sweep;
  readonly plan: Plan;
  readonly wanted: MoreRunsWanted;
  /** Runs available per cell; null for a real trtexec. */
  readonly recorded: ((cellKey: CellKey) => number) | null;
  readonly now: () => Date;
  readonly note: (line: string) => void;
}

/** Chooses the next round of runs beyond the plan, from what is stored: after a kill it goes on where it stopped. */
export class MoreRuns {
  private readonly given: MoreRunsContext;
  private readonly fitting: ReturnType<typeof timeBudget>;
  private readonly noted = new Set<string>();

  constructor(given: MoreRunsContext) {
    this.given = given;
    this.fitting = timeBudget(given.wanted.budgetS, given.now);
  }

  /** Empty when enough is known, or the time is over. */
  next(): readonly PlannedRun[] {
    const runs = Map.groupBy(
      cellRunsOf(this.given.db, [this.given.sweep.sweepId]).filter(({ role }) => role === 'timed'),
      ({ cellKey }) => cellKey,
    );
    const open = this.given.plan.cells
      .map(({ cell }) => ({ cell, runs: runs.get(cell.key) ?? [] }))
      .filter(({ cell, runs: made }) => this.canGoOn(cell, made));
    return this.fitting(this.ordered(this.unsure(open, runs), runs), ({ cellKey }) =>
      plannedRunS(this.given.plan, cellKey),
    );
  }

  private canGoOn(cell: KeyedCell, made: readonly CellRun[]): boolean {
    const limit = Math.min(this.given.wanted.maxRepeats, this.given.recorded?.(cell.key) ?? Number.POSITIVE_INFINITY);
    return made.length > 0 && highestRepeat(made) < limit && newestRun(made)?.outcome.kind === 'measured';
  }

  private unsure(open: readonly OpenCell[], runs: ReadonlyMap<string, readonly CellRun[]>): string[] {
    const { untilSurePercent, budgetS, baseSweepIds } = this.given.wanted;
    if (untilSurePercent === null && budgetS === null) return [];
    const goal = untilSurePercent === null ? WORTH_TELLING : { percent: untilSurePercent, deviations: 0 };
    const base = this.baseRuns();
    const earlier = earlierSweeps(this.given.db, this.given.sweep, [this.given.sweep.sweepId, ...baseSweepIds]);
    const compared = open.map(({ cell, runs: made }) => ({ cell, runs: [...(base.get(cell.key) ?? []), ...made] }));
    const past = pastOf(this.given.db, earlier, compared, null);
    const growing = open.map(({ cell, runs: made }) =>
      growingCell(
        cell,
        gateMetric(null, cell),
        [base.get(cell.key) ?? [], made],
        (before) => past(cell.key, before),
        plannedRunS(this.given.plan, cell.key),
      ),
    );
    const look = 1 + Math.max(0, ...[...runs.values()].map(highestRepeat)) - this.given.plan.repeats;
    const { open: repeated, limitedByNights } = cellsToRepeat(growing, look, goal);
    this.noteLimited(open, limitedByNights);
    return [...repeated];
  }

  private noteLimited(open: readonly OpenCell[], keys: readonly string[]): void {
    const fresh = open.filter(({ cell }) => keys.includes(cell.key) && !this.noted.has(cell.key));
    if (fresh.length === 0) return;
    for (const { cell } of fresh) this.noted.add(cell.key);
    const names = fresh.map(({ cell }) => printable(cellLabel(cell)));
    this.given.note(
      `sweeps differ by more than runs can settle in ${count(fresh.length, 'cell')}, not repeated: ${shortList(names, NAMED, '; ', ' and ')}`,
    );
  }

  private baseRuns(): ReadonlyMap<string, readonly CellRun[]> {
    const { baseIs, baseSweepIds } = this.given.wanted;
    const all = Map.groupBy(cellRunsOf(this.given.db, baseSweepIds), ({ cellKey }) => cellKey);
    if (baseIs === 'together') return all;
    return new Map(
      [...all].map(([key, runs]) => {
        const newest = baseSweepIds.find((id) => runs.some((run) => run.sweepId === id && isMeasured(run)));
        return [key, runs.filter(({ sweepId }) => sweepId === newest)];
      }),
    );
  }

  /** Cells that gain most first when time is short; else shuffled per round, as in the plan. */
  private ordered(keys: readonly string[], made: ReadonlyMap<string, readonly CellRun[]>): PlannedRun[] {
    const runs = keys.flatMap((key) => anotherRun(this.given.plan, key, made.get(key) ?? []));
    const round = Math.max(0, ...runs.map(({ repeat }) => repeat));
    return this.given.wanted.budgetS === null ? shuffled(runs, seededRandom(this.given.plan.seed + round)) : runs;
  }
}

const NAMED = 3;

interface OpenCell {
  readonly cell: KeyedCell;
  readonly runs: readonly CellRun[];
}
