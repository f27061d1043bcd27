import { valueRule } from '../../judge/value-rule.ts';
import type { BuildKinds } from '../../layers/same-kernels.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { gateMetric, type MetricId } from '../../records/metric.ts';
import { rejectedByBenjaminiHochberg } from '../../statistics/multiple-tests.ts';
import { incompleteBeta } from '../../statistics/special-functions.ts';
import { percentOfLog } from '../../statistics/logarithms.ts';
import { aboutCell } from '../../text/cell-label.ts';
import type { NoiseRun } from './cell-series.ts';
import type { BuiltCell } from './output.ts';
import type { BuildId, SweepId } from '../../records/scalars.ts';

export interface BuiltNoiseRun extends NoiseRun {
  /** Equal for builds of the same thing. */
  readonly engineKey: string | null;
}

/** False discovery rate of cells reported to have differing builds. */
const FALSE_SHARE = 0.05;

/**
 * Share of build-to-build variation in each cell's scatter. Cells without two builds of one engine in a sweep are
 * omitted.
 * @param runs in order
 */
export function builtCells(
  cells: readonly KeyedCell[],
  runs: readonly BuiltNoiseRun[],
  requested: MetricId | null,
  kindsOf: (buildIds: readonly BuildId[]) => BuildKinds | null,
): BuiltCell[] {
  const byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
  const found = cells.flatMap((cell) => {
    const metric = gateMetric(requested, cell);
    const luck = luckOf(byCell.get(cell.key) ?? [], metric);
    return luck === null ? [] : [{ cell, metric, luck }];
  });
  const pValues = found.map(({ luck }) => luck.pValue);
  const differing = rejectedByBenjaminiHochberg(pValues, FALSE_SHARE);
  return found.map(({ cell, metric, luck }, place) => {
    const kinds = kindsOf(luck.buildIds);
    return {
      ...aboutCell(cell, metric),
      builds: luck.buildIds.length,
      runs: luck.runs,
      buildPercent: luck.betweenPercent,
      runPercent: luck.withinPercent,
      pValue: luck.pValue,
      differ: differing.has(place),
      kernels: kinds && {
        kinds: kinds.kinds,
        layers: kinds.layers,
        otherKernels: kinds.most === null ? 0 : kinds.most.otherKernels,
      },
    };
  });
}

function luckOf(runs: readonly BuiltNoiseRun[], metric: MetricId): BuildLuck | null {
  const own = runs.filter(
    ({ outcome, role, values }) => role === 'timed' && outcome.kind === 'measured' && (values[metric] ?? 0) > 0,
  );
  const valueOf = valueRule(own, metric);
  const built = own.flatMap((run) => {
    const { buildId, engineKey, sweepId } = run;
    const value = valueOf(run);
    return buildId === null || engineKey === null || value === null ? [] : [{ engineKey, buildId, sweepId, value }];
  });
  const byEngine = [...Map.groupBy(built, ({ engineKey }) => engineKey).values()];
  for (const engine of byEngine.toReversed()) {
    const luck = buildLuck(engine);
    if (luck !== null) return luck;
  }
  return null;
}

/** One value of a run with its sweep and build. */
export interface BuiltRun {
  readonly sweepId: SweepId;
  readonly buildId: BuildId;
  readonly value: number;
}

type BuildLuck = NonNullable<ReturnType<typeof buildLuck>>;

/**
 * Splits the variance of a cell in two by a one-way random-effects model in logarithms (method of moments; Searle,
 * Casella, McCulloch 1992, 3.6). Several sweeps of the same builds count together, each by its own level. Only sweeps
 * with the builds of the newest one that has several are used: builds that never ran side by side tell nights apart.
 * @param runs the oldest first
 * @returns `betweenPercent`: standard deviation of builds beyond what their runs explain, 0 when these explain all of it;
 * `withinPercent`: that of the runs of one build; `pValue`: chance of builds that differ so much, if they were all equal
 * (F test). Null without two builds that ran side by side, or without a second run of any.
 */
export function buildLuck(runs: readonly BuiltRun[]) {
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
  // Where the F distribution is cut: what lies above is its upper tail.
  const denominator = freeWithin * withinSquare;
  const x = denominator / (denominator + freeBetween * betweenSquare);
  return {
    runs: all.length,
    betweenPercent: percentOf(variance),
    withinPercent: percentOf(withinSquare),
    pValue: betweenSquare === 0 ? 1 : incompleteBeta(freeWithin / 2, freeBetween / 2, x),
  };
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
