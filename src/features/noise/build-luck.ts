import { incompleteBeta } from '../../statistics/special-functions.ts';

/** One value of one run, and which build in which sweep it was of. */
export interface BuiltRun {
  readonly sweepId: string;
  readonly buildId: string;
  readonly value: number;
}

/** How much of the scatter is the luck of the build, and how much is that of runs. */
export interface BuildLuck {
  /** Those that ran side by side. */
  readonly buildIds: readonly string[];
  readonly runs: number;
  /** Standard deviation of builds beyond what their runs explain; 0 when the runs explain all of it. */
  readonly betweenPercent: number;
  /** Standard deviation of the runs of one build. */
  readonly withinPercent: number;
  /** Chance of builds that differ so much, if they were all alike (F test). */
  readonly pValue: number;
}

/**
 * Splits the variance of a cell in two by a one-way random-effects model in logarithms (method of moments; Searle,
 * Casella, McCulloch 1992, 3.6). Several sweeps of the same builds count together, each by its own level. Only sweeps
 * with the builds of the newest one that has several are used: builds that never ran side by side tell nights apart.
 * @param runs the oldest first
 * @returns null without two builds that ran side by side, or without a second run of any
 */
export function buildLuck(runs: readonly BuiltRun[]): BuildLuck | null {
  const sweeps = [...Map.groupBy(runs, ({ sweepId }) => sweepId).values()];
  const newest = sweeps.findLast((own) => buildsOf(own).length > 1);
  if (newest === undefined) return null;
  const buildIds = buildsOf(newest);
  const same = buildIds.join(' ');
  const used = sweeps.filter((own) => buildsOf(own).join(' ') === same);
  const levelled = used.flatMap((own) => {
    const level = meanOf(own.map(({ value }) => Math.log(value)));
    return own.map(({ buildId, value }) => ({ buildId, log: Math.log(value) - level }));
  });
  const groups = [...Map.groupBy(levelled, ({ buildId }) => buildId).values()].map((group) =>
    group.map(({ log }) => log),
  );
  const found = split(groups, used.length);
  return found === null ? null : { buildIds, ...found };
}

function split(groups: readonly (readonly number[])[], sweeps: number): Omit<BuildLuck, 'buildIds'> | null {
  const all = groups.flat();
  const freeBetween = groups.length - 1;
  // Each further sweep has a level of its own.
  const freeWithin = all.length - groups.length - (sweeps - 1);
  if (freeBetween < 1 || freeWithin < 1) return null;
  const grand = meanOf(all);
  let between = 0;
  let within = 0;
  for (const group of groups) {
    const mean = meanOf(group);
    between += group.length * (mean - grand) ** 2;
    within += group.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  }
  const betweenSquare = between / freeBetween;
  const withinSquare = within / freeWithin;
  const squares = groups.reduce((sum, group) => sum + group.length ** 2, 0);
  const runsPerBuild = (all.length - squares / all.length) / freeBetween;
  const variance = Math.max(0, (betweenSquare - withinSquare) / runsPerBuild);
  return {
    runs: all.length,
    betweenPercent: percentOf(variance),
    withinPercent: percentOf(withinSquare),
    pValue: upperTail(betweenSquare, withinSquare, freeBetween, freeWithin),
  };
}

/** Of the F distribution. */
function upperTail(betweenSquare: number, withinSquare: number, freeBetween: number, freeWithin: number): number {
  if (betweenSquare === 0) return 1;
  const denominator = freeWithin * withinSquare;
  const x = denominator / (denominator + freeBetween * betweenSquare);
  return incompleteBeta(freeWithin / 2, freeBetween / 2, x);
}

function buildsOf(runs: readonly BuiltRun[]): string[] {
  return [...new Set(runs.map(({ buildId }) => buildId))].toSorted();
}

function percentOf(variance: number): number {
  return Math.expm1(Math.sqrt(variance)) * 100;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
