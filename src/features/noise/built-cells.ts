import type { KeyedCell } from '../../records/cell.ts';
import { cellLabel } from '../../text/cell-label.ts';
import { gateMetric, type MetricId, metricOf } from '../../records/metric.ts';
import { believed } from '../../statistics/benjamini-hochberg.ts';
import type { BuildKinds } from '../../layers/same-kernels.ts';
import { type BuildLuck, buildLuck } from './build-luck.ts';
import type { BuiltCell } from './output.ts';
import type { NoiseRun } from './cell-series.ts';
import { valueRule } from '../../judge/value-rule.ts';

export interface BuiltNoiseRun extends NoiseRun {
  /** The same for builds of the same thing. */
  readonly engineKey: string | null;
}

/** Of the cells that are said to have builds that differ, at most this share is wrong on average. */
const FALSE_SHARE = 0.05;

/**
 * How much of the scatter of each cell is the luck of the build. Cells that never had two builds of the same engine in
 * one sweep are left out.
 * @param runs in the order in which they were made
 */
export function builtCells(
  cells: readonly KeyedCell[],
  runs: readonly BuiltNoiseRun[],
  asked: MetricId | null,
  kindsOf: (buildIds: readonly string[]) => BuildKinds | null,
): BuiltCell[] {
  const byCell = Map.groupBy(runs, ({ cellKey }) => cellKey);
  const found = cells.flatMap((cell) => {
    const metric = gateMetric(asked, cell);
    const luck = luckOf(byCell.get(cell.key) ?? [], metric);
    return luck === null ? [] : [{ cell, metric, luck }];
  });
  const pValues = found.map(({ luck }) => luck.pValue);
  const differing = believed(pValues, FALSE_SHARE);
  return found.map(({ cell, metric, luck }, place) => ({
    key: cell.key,
    label: cellLabel(cell),
    metric,
    unit: metricOf(metric).unit,
    builds: luck.buildIds.length,
    runs: luck.runs,
    buildPercent: luck.betweenPercent,
    runPercent: luck.withinPercent,
    pValue: luck.pValue,
    differ: differing.has(place),
    kernels: kernelsOf(kindsOf(luck.buildIds)),
  }));
}

function kernelsOf(kinds: BuildKinds | null): BuiltCell['kernels'] {
  if (kinds === null) return null;
  const { layers, most } = kinds;
  return { kinds: kinds.kinds, layers, otherKernels: most === null ? 0 : most.otherKernels };
}

/** Of the newest engine that has several builds. */
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
