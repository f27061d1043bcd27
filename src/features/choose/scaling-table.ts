import type { KeyedCell } from '../../records/cell.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import { derivedText, formatPercent } from '../../terminal/numbers.ts';
import type { DeploymentOutput, ParetoOutput } from './output.ts';
import type { Look } from '../../terminal/look.ts';
import { renderTable } from '../../terminal/table.ts';
import { truncate } from '../../terminal/text-width.ts';

type Step = ParetoOutput['scaling'][number];

interface StepRow extends Step {
  readonly cell: KeyedCell;
  readonly from: DeploymentOutput;
  readonly to: DeploymentOutput;
}

/** Neighbours may differ by little. */
const DIGITS = 5;

/** Samples a second from each batch to the next. */
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
  if (steps.length === 0) return ['', 'no two cells differ in nothing but their batch'];
  const right = 'right' as const;
  const { columns, caption } = cellColumns(steps, ({ cell }) => cell);
  const table = renderTable<StepRow>(
    [
      ...columns.filter(({ header }) => header !== 'shape'),
      { header: 'batch', text: ({ fromBatch, toBatch }) => `${fromBatch} → ${toBatch}` },
      {
        header: 'items/s',
        text: ({ from, to }) =>
          `${derivedText(from, from.itemsPerS, DIGITS)} → ${derivedText(to, to.itemsPerS, DIGITS)}`,
        align: right,
      },
      { header: 'per item', text: changeText, align: right },
    ],
    steps,
    look,
  );
  const isUnclear = steps.some(({ verdict }) => verdict === 'unclear');
  return [
    '',
    truncate(title, look.columns),
    ...table,
    ...captionLines(caption, look),
    ...(isUnclear ? [look.style.dim('? no verdict: too few runs')] : []),
  ];
}

function changeText({ itemsPerSChangePercent, verdict }: Step): string {
  return `${formatPercent(itemsPerSChangePercent)}${verdict === 'unclear' ? '?' : ''}`;
}
