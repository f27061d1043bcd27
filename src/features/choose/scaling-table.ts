import type { ScalingStep } from './scaling.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import { derivedText } from '../../terminal/derived-throughput.ts';
import type { Look } from '../../terminal/look.ts';
import { formatPercent } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';
import { truncate } from '../../terminal/text-width.ts';

export function scalingJson({ from, to, ...step }: ScalingStep) {
  return { fromKey: from.cell.key, toKey: to.cell.key, ...step };
}

/** Neighbours may differ by little. */
const DIGITS = 5;

/** Samples a second from each batch to the next. */
export function scalingLines(steps: readonly ScalingStep[], look: Look): string[] {
  const title = 'items/s from each batch to the next (- a sample takes longer in the larger one)';
  if (steps.length === 0) return ['', 'no two cells differ in nothing but their batch'];
  const right = 'right' as const;
  const { columns, caption } = cellColumns(steps, ({ from }) => from.cell);
  const table = renderTable<ScalingStep>(
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

function changeText({ itemsPerSChangePercent, verdict }: ScalingStep): string {
  return `${formatPercent(itemsPerSChangePercent)}${verdict === 'unclear' ? '?' : ''}`;
}
