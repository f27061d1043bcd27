import { compareCells } from '../../judge/compare/compare-cells.ts';
import type { Deployment } from '../../judge/deployment.ts';
import { batchOf, type KeyedCell } from '../../records/cell.ts';
import { axisTwinKey } from '../../judge/latency-search.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import { derivedText, formatPercent } from '../../terminal/numbers.ts';
import type { DeploymentOutput, ParetoOutput } from './output.ts';
import type { Look } from '../../terminal/look.ts';
import { renderTable, numberColumn } from '../../terminal/table.ts';
import { truncate } from '../../terminal/text-width.ts';

type Step = ParetoOutput['scaling'][number];

interface ScalingStep extends Pick<Step, 'fromBatch' | 'toBatch' | 'itemsPerSChangePercent'> {
  readonly from: Deployment;
  readonly to: Deployment;
}

/** Gain in items/s from a larger batch, between cells that differ only in batch. */
export function scalingOf(deployments: readonly Deployment[]): Step[] {
  const steps = stepsOf(deployments);
  const { cells } = compareCells(
    steps.map(({ from, to, fromBatch, toBatch }) => ({
      cellKey: to.cell.key,
      base: from.runsQps.map((qps) => qps * fromBatch),
      head: to.runsQps.map((qps) => qps * toBatch),
      betterIs: 'higher',
    })),
    { sameSweep: true },
  );
  const judged = new Map(cells.map((comparison) => [comparison.cellKey, comparison]));
  return steps.map(({ from, to, ...step }) => {
    const { verdict = 'unclear', reasons = [] } = judged.get(to.cell.key) ?? {};
    return { fromKey: from.cell.key, toKey: to.cell.key, ...step, verdict, reasons };
  });
}

function stepsOf(deployments: readonly Deployment[]): ScalingStep[] {
  const known = deployments.flatMap((one) => {
    const batch = batchOf(one.cell.shapes);
    return batch === null || one.itemsPerS === null ? [] : [{ one, batch, itemsPerS: one.itemsPerS }];
  });
  const byTwin = Map.groupBy(known, ({ one }) => axisTwinKey('batch', one.cell));
  return [...byTwin.values()].flatMap((same) => {
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

interface StepRow extends Step {
  readonly cell: KeyedCell;
  readonly from: DeploymentOutput;
  readonly to: DeploymentOutput;
}

/** Enough digits to distinguish neighbors. */
const DIGITS = 5;

export function scalingLines(
  { scaling, workloads }: ParetoOutput,
  cells: ReadonlyMap<string, KeyedCell>,
  look: Look,
): string[] {
  const byKey = new Map(workloads.flat().map((one) => [one.key, one]));
  const steps = scaling.flatMap((step): StepRow[] => {
    const [cell, from, to] = [cells.get(step.fromKey), byKey.get(step.fromKey), byKey.get(step.toKey)];
    return cell === undefined || from === undefined || to === undefined ? [] : [{ ...step, cell, from, to }];
  });
  const title = 'items/s from each batch to the next (- a sample takes longer in the larger one)';
  if (steps.length === 0) return ['', 'no two cells differ only in their batch'];
  const { columns, caption } = cellColumns(steps, ({ cell }) => cell);
  const table = renderTable<StepRow>(
    [
      ...columns.filter(({ header }) => header !== 'shape'),
      {
        header: 'batch',
        text: ({ from, fromBatch, to, toBatch }) => `${marked(fromBatch, from)} → ${marked(toBatch, to)}`,
      },
      numberColumn(
        'items/s',
        ({ from, to }) => `${derivedText(from, from.itemsPerS, DIGITS)} → ${derivedText(to, to.itemsPerS, DIGITS)}`,
      ),
      numberColumn('per item', changeText),
    ],
    steps,
    look,
  );
  const isTuned = steps.some(({ from, fromBatch, to, toBatch }) =>
    [marked(fromBatch, from), marked(toBatch, to)].some((text) => text.endsWith('*')),
  );
  const isUnclear = steps.some(({ verdict }) => verdict === 'unclear');
  return [
    '',
    truncate(title, look.columns),
    ...table,
    ...captionLines(caption, look),
    ...(isTuned ? [look.style.dim('* the batch that the engine is tuned for (build.opt)')] : []),
    ...(isUnclear ? [look.style.dim('? no verdict: too few runs')] : []),
  ];
}

function marked(batch: number, { tunedBatch }: DeploymentOutput): string {
  return `${batch}${batch === tunedBatch ? '*' : ''}`;
}

function changeText({ itemsPerSChangePercent, verdict }: Step): string {
  return `${formatPercent(itemsPerSChangePercent)}${verdict === 'unclear' ? '?' : ''}`;
}
