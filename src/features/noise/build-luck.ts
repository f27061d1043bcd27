import { valueRule } from '../../judge/value-rule.ts';
import type { MetricId } from '../../records/metric.ts';
import type { BuildId, SweepId } from '../../records/scalars.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import type { NoiseRun } from './cell-series.ts';

export interface BuiltNoiseRun extends NoiseRun {
  /** Equal for builds of the same thing. */
  readonly engineKey: string | null;
}

/**
 * Standard deviation between the builds of the newest engine of which several ran side by side, in percent.
 * @param runs of one cell, in order
 */
export function buildPercentOf(runs: readonly BuiltNoiseRun[], metric: MetricId): number | null {
  const own = runs.filter(
    ({ outcome, role, values }) => role === 'timed' && outcome.kind === 'measured' && (values[metric] ?? 0) > 0,
  );
  const valueOf = valueRule(own, metric);
  const built = own.flatMap((run) => {
    const { buildId, engineKey, sweepId } = run;
    const value = valueOf(run);
    return buildId === null || engineKey === null || value === null ? [] : [{ engineKey, buildId, sweepId, value }];
  });
  const engines = [...Map.groupBy(built, ({ engineKey }) => engineKey).values()].toReversed();
  return engines.flatMap((engine) => buildLuck(engine) ?? [])[0]?.betweenPercent ?? null;
}

/** One value of a run with its sweep and build. */
export interface BuiltRun {
  readonly sweepId: SweepId;
  readonly buildId: BuildId;
  readonly value: number;
}

/**
 * Splits the variance of a cell in two by a one-way random-effects model in logarithms (method of moments; Searle,
 * Casella, McCulloch 1992, 3.6). Several sweeps of the same builds count together, each by its own level. Only sweeps
 * with the builds of the newest one that has several are used: builds that never ran side by side tell nights apart.
 * @param runs the oldest first
 * @returns `betweenPercent`: standard deviation of builds beyond what their runs explain, 0 when these explain all of it;
 * `withinPercent`: that of the runs of one build. Null without two builds that ran side by side, or without a second run
 * of any.
 */
export function buildLuck(runs: readonly BuiltRun[]) {
  const sweeps = [...Map.groupBy(runs, ({ sweepId }) => sweepId).values()];
  const newest = sweeps.findLast((own) => buildsOf(own).length > 1);
  if (newest === undefined) return null;
  const same = buildsOf(newest).join(' ');
  const used = sweeps.filter((own) => buildsOf(own).join(' ') === same);
  const levelled = used.flatMap((own) => {
    const level = meanOf(own.map(({ value }) => Math.log(value)));
    return own.map(({ buildId, value }) => ({ buildId, log: Math.log(value) - level }));
  });
  const groups = [...Map.groupBy(levelled, ({ buildId }) => buildId).values()].map((group) =>
    group.map(({ log }) => log),
  );
  return split(groups, used.length);
}

function split(groups: readonly (readonly number[])[], sweeps: number) {
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
  return { betweenPercent: percentOf(variance), withinPercent: percentOf(withinSquare) };
}

function buildsOf(runs: readonly BuiltRun[]): string[] {
  return [...new Set(runs.map(({ buildId }) => buildId))].toSorted();
}

function percentOf(variance: number): number {
  return percentOfLog(Math.sqrt(variance));
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
