import { meanLog } from '../../src/statistics/special-functions.ts';
import type { Pair } from './draw.ts';
import type { RealRun, Visit } from './real-runs.ts';
import { type Answer, checkedSweeps, fixed, type MeasuredCell } from './ways.ts';

export interface RealChange {
  /** Smallest and largest change of the mean of the runs. */
  readonly percent: readonly [number, number];
  readonly way: string;
  /** Called slower, of the cells whose engine was replaced, and other calls, of the cells with the same engine. */
  readonly found: number;
  readonly replaced: number;
  readonly falseCalls: number;
  readonly same: number;
  /** Seconds of the GPU that the newest sweep took for a cell. */
  readonly secondsACell: number;
}

/** Runs of a sweep, as measured. */
const RUNS = 2;

/** Sweeps with another model as they were measured, against the first one: nothing is drawn or multiplied. */
export function realChanges(visit: Visit): RealChange[] {
  const all = visit.runs.flat();
  const heads = [...new Set(all.flatMap(({ engine, sweep }) => (engine > 0 ? [sweep] : [])))];
  return heads.flatMap((head) => [
    score(visit, head, '--repeats 2, compare', comparedTo(visit, head)),
    score(visit, head, '--repeats 2, check', checkedSweeps(measuredCells(visit, head, false))),
    ...(all.some(({ isPair, sweep }) => isPair && sweep === head)
      ? [score(visit, head, '--repeats 2 --confirm, check', checkedSweeps(measuredCells(visit, head, true)))]
      : []),
  ]);
}

function timedIn(runs: readonly RealRun[], sweep: number): RealRun[] {
  return runs.filter((run) => run.sweep === sweep && !run.isPair);
}

function comparedTo({ cells, runs }: Visit, head: number): Answer {
  return fixed(RUNS)(
    cells.map((cell, place) => {
      const [base, newest] = [0, head].map((sweep) => timedIn(runs[place] ?? [], sweep));
      return { cell, isChanged: false, before: [], base: base ?? [], newest: newest ?? [], pairsAfter: () => [] };
    }),
  );
}

function measuredCells({ cells, runs }: Visit, head: number, isPaired: boolean): MeasuredCell[] {
  return cells.map((cell, place) => {
    const own = runs[place] ?? [];
    const paired = own.filter(({ isPair, sweep }) => isPair && sweep === head);
    const pairs = Array.from({ length: Math.floor(paired.length / 2) }, (_, pair): Pair[] => {
      const both = paired.slice(2 * pair, 2 * pair + 2);
      const [newest, lastGood] = [both.find(({ engine }) => engine > 0), both.find(({ engine }) => engine === 0)];
      return newest === undefined || lastGood === undefined ? [] : [{ newest, lastGood }];
    });
    return { cell, sweeps: [0, head].map((sweep) => timedIn(own, sweep)), pairs: isPaired ? pairs.flat() : null };
  });
}

function score({ cells, runs }: Visit, head: number, way: string, { called, seconds }: Answer): RealChange {
  const judged = cells.map((cell, place) => {
    const [before = [], now = []] = [0, head].map((sweep) => timedIn(runs[place] ?? [], sweep).map(({ ms }) => ms));
    return {
      isReplaced: timedIn(runs[place] ?? [], head).some(({ engine }) => engine > 0),
      verdict: called.get(cell.key) ?? null,
      percent: 100 * Math.expm1(meanLog(now) - meanLog(before)),
    };
  });
  const replaced = judged.filter(({ isReplaced }) => isReplaced);
  const same = judged.filter(({ isReplaced }) => !isReplaced);
  const percents = replaced.map(({ percent }) => percent);
  return {
    percent: [Math.min(...percents), Math.max(...percents)],
    way,
    found: replaced.filter(({ verdict }) => verdict === 'slower').length,
    replaced: replaced.length,
    falseCalls: same.filter(({ verdict }) => verdict !== null).length,
    same: same.length,
    secondsACell: [...seconds.values()].reduce((sum, one) => sum + one, 0) / cells.length,
  };
}
