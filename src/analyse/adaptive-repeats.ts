import type { CellComparison } from '../domain/verdict.ts';
import { compareCells } from './compare-cells.ts';
import { meanLog } from './mean-log.ts';
import { estimateNoise } from './run-noise.ts';
import { spentQ } from './spent-q.ts';

/** A cell whose runs are still being made. */
export interface GrowingCell {
  readonly cellKey: string;
  /** Runs to compare with; none when there is nothing to compare with. */
  readonly base: readonly number[];
  /** Runs of tonight so far. */
  readonly head: readonly number[];
  readonly betterIs: 'lower' | 'higher';
  /** Time that one more run takes, in seconds. */
  readonly runS: number;
}

/** A change that must not stay hidden. */
export interface Goal {
  readonly percent: number;
  /** In a noisy cell so many deviations of a single run, where that is more; 0: the same for every cell. */
  readonly deviations: number;
}

/** 95 % of a normal lie below; at both ends of the interval, so that 90 % lie within. */
const REACH_ERRORS = 1.645;
/** Share of false calls that stopping early may cost, all looks together. */
const EARLY_Q = 0.01;

/**
 * The cells that one more run should go to, those that gain most for their time first. A cell is done when its change
 * is called at this look, or when the interval of its change does not reach the goal any more. Only the first of the
 * two could call more false changes than one look does, so only it spends: 1 % over all looks (alpha spending). The
 * second is a stop for want of prospects, which calls nothing (Lachin 2005).
 * @param look counts from 1: how often the growing runs have been looked at
 */
export function cellsToRepeat(cells: readonly GrowingCell[], look: number, goal: Goal): string[] {
  const { cells: compared } = compareCells(cells, { q: spentQ(look, EARLY_Q) });
  const decided = calledAmong(compared);
  const noises = estimateNoise(cells);
  const open = cells.flatMap((cell, index) => {
    if (decided.has(cell.cellKey)) return [];
    const { variance = 0, assumed = null } = noises[index] ?? {};
    const others = cell.base.length === 0 ? cell.head.length : cell.base.length;
    const error = Math.sqrt(variance * (1 / cell.head.length + 1 / others));
    const change = cell.base.length === 0 ? 0 : Math.abs(changeOf(cell));
    const wanted = Math.max(Math.log1p(goal.percent / 100), goal.deviations * Math.sqrt(variance));
    const isOpen = assumed !== null || change + REACH_ERRORS * error >= wanted;
    return isOpen ? [{ key: cell.cellKey, gain: error / wanted / cell.runS }] : [];
  });
  return open.toSorted((a, b) => b.gain - a.gain || (a.key < b.key ? -1 : 1)).map(({ key }) => key);
}

function calledAmong(compared: readonly CellComparison[]): Set<string> {
  const called = compared.filter(({ verdict }) => verdict === 'slower' || verdict === 'faster');
  return new Set(called.map(({ cellKey }) => cellKey));
}

function changeOf({ base, head }: GrowingCell): number {
  return meanLog(head) - meanLog(base);
}
