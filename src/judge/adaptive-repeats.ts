import * as z from 'zod';

import { isCalled } from '../records/verdict.ts';
import { compareCells, type TwoSides } from './compare/compare-cells.ts';
import { alphaSpent } from '../statistics/p-values.ts';
import { type KeyedCell, noiseKindOf } from '../records/cell.ts';
import { gateMetric, type MetricId, metricOf } from '../records/metric.ts';
import { type CellRun, isMeasured } from '../records/run.ts';
import type { Plan, PlannedRun } from '../records/plan.ts';
import { type CellKey, type Immutable, numberOrNull } from '../records/scalars.ts';
import { valueRule } from './value-rule.ts';

type RoundRun = Pick<CellRun, 'centres' | 'outcome' | 'repeat' | 'role' | 'values'>;

export function newestRun<Run extends Pick<CellRun, 'repeat'>>(runs: readonly Run[]): Run | undefined {
  return runs.toSorted((a, b) => a.repeat - b.repeat).at(-1);
}

export function highestRepeat(runs: readonly Pick<CellRun, 'repeat'>[]): number {
  return newestRun(runs)?.repeat ?? 0;
}

export function timedRunOf({ runs }: Pick<Plan, 'runs'>, cellKey: CellKey): PlannedRun | null {
  return runs.find((run) => run.role === 'timed' && run.cellKey === cellKey) ?? null;
}

export function plannedRunS(plan: Pick<Plan, 'runs'>, cellKey: CellKey): number {
  return timedRunOf(plan, cellKey)?.estimateS ?? 1;
}

export function anotherRun(plan: Plan, cellKey: CellKey, made: readonly CellRun[]): PlannedRun[] {
  const planned = timedRunOf(plan, cellKey);
  return planned === null ? [] : [{ ...planned, repeat: highestRepeat(made) + 1 }];
}

/** Keeps items that fit into a time that begins now, in order. @param budgetS seconds; null for no limit */
export function timeBudget(budgetS: number | null, now: () => Date) {
  const startMs = now().getTime();
  return <Item>(items: readonly Item[], secondsOf: (item: Item) => number): Item[] => {
    let leftS = (budgetS ?? Infinity) - (now().getTime() - startMs) / 1000;
    return items.filter((item) => {
      leftS -= secondsOf(item);
      return leftS >= 0;
    });
  };
}

/** Error probability over all looks at the changes that end the repeats of a cell. */
const EARLY_Q = 0.01;

/** With fewer runs of the head, the noise between sweeps is too uncertain to give a cell up. */
const LIMITED_RUNS = 5;

/** A cell whose timed runs grow until there are enough for a verdict. */
export interface GrowingRuns<Run extends RoundRun = RoundRun> {
  readonly cell: KeyedCell;
  /** Runs of the other side or of earlier sweeps; empty if there is nothing to compare with. */
  readonly base: readonly Run[];
  readonly head: readonly Run[];
  readonly rounds: number;
  /** Number of available rounds; infinite for a real trtexec. */
  readonly capacity: number;
  /** Wall time of another round. */
  readonly roundS: number;
  /** True if another round would not yield a measurement. */
  readonly isOver: boolean;
}

export interface Enough {
  /** Rounds that every cell gets. */
  readonly repeats: number;
  readonly maxRepeats: number;
  /** Cells are repeated until a change of this size would be detected. */
  readonly goal: {
    readonly percent: number;
    /** For a noisy cell: this many standard deviations of a single run, if that is more. */
    readonly deviations: number;
  };
  /** Null for each cell's own metric. */
  readonly metric: MetricId | null;
}

/**
 * `open`: cells that need another round, most useful for their time first; `limited`: those that no round would decide.
 * Only the first rule could increase the number of false changes, so it alone spends 1 % over all looks (alpha
 * spending). The second rule, that a comparison would detect the goal, is stopping for futility, which reports nothing
 * (Lachin 2005).
 * @param past values of earlier sweeps at the same level; none if both sides were measured in the same sweep
 */
export function undecided<Cell extends GrowingRuns>(
  cells: readonly Cell[],
  { goal, maxRepeats, metric, repeats }: Enough,
  past: (key: CellKey, values: readonly number[]) => readonly number[] = () => [],
): { readonly open: Cell[]; readonly limited: Cell[] } {
  const look = Math.max(1, 1 + Math.max(0, ...cells.map(({ rounds }) => rounds)) - repeats);
  const sides = cells.flatMap(({ cell, ...runs }): TwoSides[] => {
    const metricId = gateMetric(metric, cell);
    const measured = [runs.base, runs.head].map((side) => side.filter(isMeasured));
    const valueOf = valueRule(measured.flat(), metricId);
    const [base = [], head = []] = measured.map((side) => side.flatMap((run) => valueOf(run) ?? []));
    if (head.length === 0 || (base.length === 0 && runs.base.length > 0)) return [];
    const about = { cellKey: cell.key, kind: noiseKindOf(cell), betterIs: metricOf(metricId).betterIs };
    // Without a base, assumes a sweep with as many runs.
    return [{ ...about, base: base.length === 0 ? head : base, head, past: past(cell.key, base) }];
  });
  const early = compareCells(sides, { q: alphaSpent(look, EARLY_Q) }).cells.filter(isCalled);
  const called = new Set(early.map(({ cellKey }) => cellKey));
  const growing = cells.filter(({ capacity, isOver, rounds }) => !isOver && rounds < Math.min(maxRepeats, capacity));
  const byKey = new Map(growing.map((each) => [each.cell.key, each]));
  const gains = new Map<Cell, number>();
  const limited: Cell[] = [];
  for (const { cellKey, ciPercent, mdePercent, noise, runs } of compareCells(sides).cells) {
    const cell = byKey.get(cellKey);
    if (cell === undefined || called.has(cellKey)) continue;
    const [detectable = 0, run = 0, bySweeps = 0] = [mdePercent, noise?.runPercent, noise?.nightPercent].map(logOf);
    const wanted = Math.max(logOf(goal.percent), goal.deviations * run);
    if (ciPercent !== null && detectable <= wanted) continue;
    const byRuns = run * Math.sqrt(1 / runs[0] + 1 / runs[1]);
    // No number of runs makes a change detectable that the sweeps hide.
    const hidden = (detectable * bySweeps) / Math.hypot(byRuns, bySweeps);
    const isKnown = ciPercent !== null && runs[1] >= LIMITED_RUNS;
    if (isKnown && bySweeps > byRuns && hidden > wanted) limited.push(cell);
    else gains.set(cell, byRuns / wanted / cell.roundS);
  }
  const open = [...gains].toSorted(([a, ofA], [b, ofB]) => ofB - ofA || (a.cell.key < b.cell.key ? -1 : 1));
  return { open: open.map(([cell]) => cell), limited };
}

function logOf(percent: number | null | undefined): number {
  return Math.log1p((percent ?? 0) / 100);
}

/** Runs beyond the plan: stored with it, so that `--resume` continues them. */
export const moreRunsSchema = z.object({
  /** Runs continue until a change of this percentage is detectable or reported in each cell; null if not requested. */
  untilSurePercent: numberOrNull,
  /** Time limit of the whole sweep in seconds; null for none. */
  budgetS: numberOrNull,
  maxRepeats: z.number(),
  baseSweepIds: z.array(z.string()),
  /** Whether their runs are pooled, or each cell uses the newest sweep that has it. */
  baseIs: z.enum(['together', 'newestOfCell']).default('together'),
});

export type MoreRunsWanted = Immutable<z.infer<typeof moreRunsSchema>>;
