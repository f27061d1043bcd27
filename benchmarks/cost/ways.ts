import { chooseSuspects, confirmBudgetS } from '../../src/features/run/suspects/last-good-engine.ts';
import { cellsToRepeat, type GrowingCell } from '../../src/judge/adaptive-repeats.ts';
import { compareCells } from '../../src/judge/compare/compare-cells.ts';
import type { PairResult, Candidate } from '../../src/judge/gate/evidence.ts';
import { judgePairs, pairsNeeded, runSigmas } from '../../src/judge/gate/judge-pairs.ts';
import { type KeyedCell, noiseKindOf } from '../../src/records/cell.ts';
import type { CellKey } from '../../src/records/scalars.ts';
import { isCalled } from '../../src/records/verdict.ts';
import { median } from '../../src/statistics/order-statistics.ts';
import { alarms, SimulatedGate } from '../../test/support/gate-evidence.ts';
import type { DrawnCell, Pair } from './draw.ts';
import type { RealRun } from './real-runs.ts';

export interface Answer {
  /** Direction that is called, by cell. */
  readonly called: ReadonlyMap<CellKey, string>;
  /** What the newest sweep took of the GPU, seconds by cell. */
  readonly seconds: ReadonlyMap<CellKey, number>;
}

/** Of cells of a matrix: what bench calls, and what that took. */
export type Way = (cells: readonly DrawnCell[]) => Answer;

/** `bench run --repeats RUNS`, then `bench compare` with the sweep before, which had as many. */
export function fixed(runs: number): Way {
  return (cells) =>
    compared(cells.map(({ base, cell, newest }) => ({ cell, base: base.slice(0, runs), head: newest.slice(0, runs) })));
}

/** `bench run --repeats START --until-sure PERCENT`, after a sweep that was made so too, then `bench compare`. */
export function untilSure(start: number, percent: number): Way {
  return (cells) => {
    const yesterday = cells.map(({ base, before, cell }) => ({ cell, base: before, head: base }));
    const bases = grown(yesterday, start, percent);
    return compared(
      grown(
        cells.map(({ cell, newest }, place) => ({ cell, base: bases[place]?.head ?? [], head: newest })),
        start,
        percent,
      ),
    );
  };
}

interface TwoSweeps {
  readonly cell: KeyedCell;
  readonly base: readonly RealRun[];
  readonly head: readonly RealRun[];
}

/** Each cell with those runs of the newest sweep that the rule asks for. */
function grown(sides: readonly TwoSweeps[], start: number, percent: number): TwoSweeps[] {
  const counts = new Map(sides.map(({ cell }) => [cell.key, start]));
  for (let look = 1; ; look += 1) {
    const made = sides.map((side) => ({ ...side, head: side.head.slice(0, counts.get(side.cell.key)) }));
    const open = new Set(cellsToRepeat(made.map(growing), look, { percent, deviations: 0 }).open);
    const more = sides.filter(({ cell: { key }, head }) => open.has(key) && (counts.get(key) ?? 0) < head.length);
    if (more.length === 0) return made;
    for (const { cell } of more) counts.set(cell.key, (counts.get(cell.key) ?? 0) + 1);
  }
}

function growing({ base, cell, head }: TwoSweeps): GrowingCell {
  const kind = noiseKindOf(cell);
  const runS = secondsOf(head) / head.length;
  return { cellKey: cell.key, base: times(base), head: times(head), kind, betterIs: 'lower', runS };
}

function compared(sides: readonly TwoSweeps[]): Answer {
  const called = compareCells(sides.map(growing)).cells.filter(isCalled);
  return {
    called: new Map(called.map(({ cellKey, verdict }) => [cellKey, verdict])),
    seconds: new Map(sides.map(({ cell, head }) => [cell.key, secondsOf(head)])),
  };
}

/** Of the base, for the sweeps before the newest one. */
const PAST_RUNS = 10;

/** `bench run --repeats RUNS`, then `bench check`. @param isPaired with `--confirm` */
export function checked(runs: number, isPaired: boolean): Way {
  const past = Math.floor(PAST_RUNS / runs);
  return (cells) =>
    checkedSweeps(
      cells.map(({ base, cell, newest, pairsAfter }) => {
        const runsBefore = base.slice(-past * runs);
        const before = Array.from({ length: past }, (_, sweep) => runsBefore.slice(sweep * runs, (sweep + 1) * runs));
        return { cell, sweeps: [...before, newest.slice(0, runs)], pairs: isPaired ? pairsAfter(runs) : null };
      }),
    );
}

export interface MeasuredCell {
  readonly cell: KeyedCell;
  /** Oldest first. */
  readonly sweeps: readonly (readonly RealRun[])[];
  /** As they would be measured after the newest sweep; null where it is made without pairs. */
  readonly pairs: readonly Pair[] | null;
}

/** Before the pairs of a cell one run of each engine is thrown away. */
const WARM_UPS = 2;

/** What `bench check` reports as slower in the newest sweep. Only suspects have pairs, as in `bench run --confirm`. */
export function checkedSweeps(cells: readonly MeasuredCell[]): Answer {
  const byKey = new Map(cells.map((one) => [one.cell.key, one]));
  const runsOf = (key: CellKey, sweep: number): readonly RealRun[] => byKey.get(key)?.sweeps.at(sweep) ?? [];
  const seconds = new Map(cells.map(({ cell }) => [cell.key, secondsOf(runsOf(cell.key, -1))]));
  const sigmaOf = runSigmas(new Map(cells.map(({ cell, sweeps }) => [cell.key, sweeps.map(times)])));
  const runS = (key: CellKey): number => secondsOf(runsOf(key, -1)) / runsOf(key, -1).length;
  const pairs = (candidates: readonly Candidate[]): PairResult[] => {
    const budgetS = confirmBudgetS(
      null,
      [...seconds.values()].reduce((sum, one) => sum + one, 0),
    );
    const { chosen } = chooseSuspects(candidates, new Set(), budgetS, runS);
    return chosen.flatMap(({ cellKey, isUnsteady, metric }): PairResult[] => {
      const measured = byKey.get(cellKey)?.pairs?.slice(0, pairsNeeded({ isUnsteady }).count) ?? [];
      if (measured.length === 0) return [];
      const took = secondsOf(measured.flatMap(({ lastGood, newest }) => [newest, lastGood]));
      seconds.set(cellKey, (seconds.get(cellKey) ?? 0) + took + WARM_UPS * runS(cellKey));
      const judged = judgePairs({
        cellKey,
        pairs: measured.map(({ lastGood, newest }) => ({ newest: newest.ms, lastGood: lastGood.ms })),
        sigma: sigmaOf(cellKey),
        before: median(times(runsOf(cellKey, -2))) ?? 0,
        now: median(times(runsOf(cellKey, -1))) ?? 0,
        isUnsteady,
        isSameSources: false,
        minChangePercent: 0,
      });
      return [{ metric, ...judged }];
    });
  };
  const past = (cells[0]?.sweeps.length ?? 1) - 1;
  const gate = new SimulatedGate({
    cells: cells.map(({ cell }) => cell),
    metrics: ['gpuComputeMs'],
    values: (cell, sweep) => times(cells[cell]?.sweeps[sweep] ?? []),
    ...(cells.some((one) => one.pairs !== null) ? { pairs } : {}),
  });
  gate.skip(past);
  const found = alarms(gate.next(), past).flatMap((finding) => finding.cells);
  return { called: new Map(found.map(({ cellKey }) => [cellKey, 'slower'])), seconds };
}

function times(runs: readonly RealRun[]): number[] {
  return runs.map(({ ms }) => ms);
}

function secondsOf(runs: readonly RealRun[]): number {
  return runs.reduce((sum, { wallS }) => sum + wallS, 0);
}
