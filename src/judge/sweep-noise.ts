import { tQuantile } from '../statistics/student-t.ts';
import { twoGroups } from '../statistics/two-groups.ts';
import { median } from '../statistics/median.ts';
import { quantileSorted } from '../statistics/quantile.ts';

/** The difference between two sides of a cell, in logarithms. */
export interface Difference {
  readonly cellKey: string;
  readonly difference: number;
  /** Its standard error as the runs say it, and the degrees of freedom of that. */
  readonly error: number;
  readonly degrees: number;
}

const NIGHTS = {
  /** From this many cells on their differences say how much two nights differ, */
  leastCells: 20,
  /** and this many of them must be left without those that changed. */
  leastUnchanged: 8,
  /** Cells that are called changed, unless they are more than this: then the nights make them look so, */
  changedShare: 0.25,
  /** but not where this many of them went the same way, as nights move cells to both sides. */
  oneWay: 0.9,
  /** A mean difference of this many of its errors is no chance: cells changed, or nights differ in what all share; */
  oneWayErrors: 3,
  /** the former where two groups are so much likelier than one (natural logarithm). */
  leastGain: 1,
  /** This many cells with a history say by how much their nights differ. */
  leastWithPast: 5,
  /** Cells with up to this many times the error of the quietest quarter: the others hide what nights do. */
  quietRatio: 2,
  /** Each cell is held against this many others: all pairs of a large matrix would say no more. */
  mostPartners: 40,
  /** Two nights of one machine never differ by more, in logarithms; cells that do were changed. */
  mostError: 0.01,
} as const;

/**
 * The error of a difference that no number of runs takes away, as two nights differ, squared: from how much the
 * differences of the cells scatter beyond what their runs explain (an empirical null: Efron 2004). It is read from the
 * nearest quarter of all pairs of cells (as the scale Qn: Rousseeuw and Croux 1993), so that a shift that all share is
 * not taken for it. Nights move cells to both sides: where they went one way, and are likelier to be a group that did not
 * change and one that did, it is what these scatter by within. 0 with fewer than twenty cells.
 * @param called keys of the cells that are called changed without it
 */
export function nightVariance(cells: readonly Difference[], called: ReadonlySet<string>): number {
  if (cells.length < NIGHTS.leastCells) return 0;
  // By key: a hash, so that partners are drawn at random, and the same for any order of the cells.
  const drawn = quietest(unchanged(cells, called)).toSorted((a, b) => (a.cellKey < b.cellKey ? -1 : 1));
  const degrees = median(drawn.map((cell) => cell.degrees)) ?? 1;
  const nearest = tQuantile(0.75, 2 * degrees);
  const needed: number[] = [];
  for (const [place, a] of drawn.entries()) {
    for (const b of drawn.slice(place + 1, place + 1 + NIGHTS.mostPartners)) {
      // With this variance more in each of the two they would be just as near as a quarter of all pairs is.
      const explained = a.error ** 2 + b.error ** 2;
      needed.push((((a.difference - b.difference) / nearest) ** 2 - explained) / 2);
    }
  }
  const variance = quantileSorted(
    needed.toSorted((a, b) => a - b),
    0.25,
  );
  return limited(Math.min(variance, varianceInGroups(quietest(cells))));
}

/**
 * What cells scatter by within those that did not change and those that did; infinite where these are not likelier than
 * one group.
 */
function varianceInGroups(cells: readonly Difference[]): number {
  if (!isOneWay(cells)) return Infinity;
  const { variance, gain } = twoGroups(cells);
  return gain >= NIGHTS.leastGain ? variance : Infinity;
}

function limited(variance: number): number {
  return Math.min(Math.max(0, variance), NIGHTS.mostError ** 2);
}

/** What the earlier nights of a cell say of the error of its difference. */
export interface PastDifference extends Difference {
  /** By how much nights differ beyond what is in the error, squared; less than 0 where they differ less. */
  readonly beyond: number;
}

/**
 * What nights differ by beyond the errors of cells with a history, squared: the middle one, so that no wild past
 * counts.
 */
export function pastNightVariance(cells: readonly PastDifference[]): number {
  if (cells.length < NIGHTS.leastWithPast) return 0;
  return limited(median(quietest(cells).map(({ beyond }) => beyond)) ?? 0);
}

function isOneWay(cells: readonly Difference[]): boolean {
  const count = cells.length;
  const mean = cells.reduce((sum, { difference }) => sum + difference, 0) / count;
  const squares = cells.reduce((sum, { difference }) => sum + (difference - mean) ** 2, 0);
  return Math.abs(mean) > NIGHTS.oneWayErrors * Math.sqrt(squares / (count - 1) / count);
}

function unchanged(cells: readonly Difference[], called: ReadonlySet<string>): readonly Difference[] {
  const changed = cells.filter(({ cellKey }) => called.has(cellKey));
  const up = changed.filter(({ difference }) => difference > 0).length;
  const wentOneWay = Math.max(up, changed.length - up) >= NIGHTS.oneWay * changed.length;
  const areChanges = wentOneWay || changed.length <= NIGHTS.changedShare * cells.length;
  const rest = cells.filter(({ cellKey }) => !called.has(cellKey));
  return areChanges && rest.length >= NIGHTS.leastUnchanged ? rest : cells;
}

/** Cells of which the error lets the nights be seen. */
function quietest<Cell extends Difference>(cells: readonly Cell[]): readonly Cell[] {
  const sorted = cells.toSorted((a, b) => a.error - b.error);
  const limit = NIGHTS.quietRatio * (sorted[Math.floor(sorted.length / 4)]?.error ?? 0);
  return sorted.filter(({ error }, place) => error <= limit || place < NIGHTS.leastUnchanged);
}
