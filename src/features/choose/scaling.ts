import { canonicalJson } from '../../text/canonical-json.ts';
import { batchOf, type KeyedCell } from '../../records/cell.ts';
import type { CellComparison } from '../../records/verdict.ts';
import { compareCells } from '../../judge/compare/compare-cells.ts';
import type { Deployment } from '../../judge/deployment.ts';

/** From one batch to the next larger one of the same. */
export interface ScalingStep {
  readonly from: Deployment;
  readonly to: Deployment;
  readonly fromBatch: number;
  readonly toBatch: number;
  /** Of the samples a second: below 0 a sample takes longer in the larger batch. */
  readonly itemsPerSChangePercent: number;
  readonly verdict: CellComparison['verdict'];
  readonly reasons: readonly string[];
}

/** What a larger batch gains or loses a sample, in cells that differ in nothing else. */
export function scalingOf(deployments: readonly Deployment[]): ScalingStep[] {
  const steps = stepsOf(deployments);
  const { cells } = compareCells(
    steps.map(({ from, to, fromBatch, toBatch }) => ({
      cellKey: to.cell.key,
      base: from.runsQps.map((qps) => qps * fromBatch),
      head: to.runsQps.map((qps) => qps * toBatch),
      betterIs: 'higher',
    })),
    { sameNight: true },
  );
  const judged = new Map(cells.map((comparison) => [comparison.cellKey, comparison]));
  return steps.map((step) => {
    const comparison = judged.get(step.to.cell.key);
    return { ...step, verdict: comparison?.verdict ?? 'unclear', reasons: comparison?.reasons ?? [] };
  });
}

function stepsOf(deployments: readonly Deployment[]): Omit<ScalingStep, 'verdict' | 'reasons'>[] {
  const known = deployments.flatMap((one) => {
    const batch = batchOf(one.cell.shapes);
    return batch === null || one.itemsPerS === null ? [] : [{ one, batch, itemsPerS: one.itemsPerS }];
  });
  const alike = Map.groupBy(known, ({ one, batch }) => batchTwinKey(one.cell, batch));
  return [...alike.values()].flatMap((same) => {
    const sorted = same.toSorted((a, b) => a.batch - b.batch);
    return sorted.slice(1).flatMap((to, place) => {
      const from = sorted[place];
      if (from === undefined) return [];
      return [
        {
          from: from.one,
          to: to.one,
          fromBatch: from.batch,
          toBatch: to.batch,
          itemsPerSChangePercent: (to.itemsPerS / from.itemsPerS - 1) * 100,
        },
      ];
    });
  });
}

/** Cells that differ in nothing but their batch have the same. */
function batchTwinKey({ key: _key, shapes, axisFlags, ...rest }: KeyedCell, batch: number): string {
  const samples = Object.entries(shapes).map(([input, dims]) => [input, dims.slice(1)]);
  // A harness may be told the batch by a parameter of its own.
  const flags = Object.entries(axisFlags).filter(([name, value]) => name !== 'batch' || value !== String(batch));
  return canonicalJson({ ...rest, samples, flags });
}
