import type { BuildKinds } from '../../layers/same-kernels.ts';
import type { BuiltCell } from './built-cells.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { percentText } from './words.ts';
import { count, formatNumber } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';

const right = 'right' as const;

/** How much builds of the same engine differ, beside their runs. */
export function buildTable(built: readonly BuiltCell[], look: Look): string[] {
  if (built.length === 0) return [];
  const about = cellColumns(built, ({ cell }) => cell);
  return [
    '',
    look.style.strong(`${count(built.length, 'cell')} with several builds of the same engine`),
    ...renderTable<BuiltCell>(
      [
        ...about.columns,
        { header: 'builds', text: ({ luck }) => String(luck.buildIds.length), align: right },
        { header: 'runs', text: ({ luck }) => String(luck.runs), align: right, dropRank: 3 },
        { header: 'build ±', text: ({ luck }) => percentText(luck.betweenPercent), align: right },
        { header: 'run ±', text: ({ luck }) => percentText(luck.withinPercent), align: right, dropRank: 2 },
        { header: 'p', text: ({ luck }) => chanceText(luck.pValue), align: right, dropRank: 1 },
        { header: 'differ', text: ({ differ }) => (differ ? 'yes' : 'not seen') },
        { header: 'kernels', text: ({ kinds }) => kernelWords(kinds) },
      ],
      built,
      look,
    ),
    ...captionLines(about.caption, look),
  ];
}

function chanceText(pValue: number): string {
  return pValue < 1e-4 ? '<0.0001' : formatNumber(pValue, 2);
}

/** `13 of 141 differ`; of several kinds the two that differ most. */
function kernelWords(kinds: BuildKinds | null): string {
  if (kinds === null) return 'not known';
  const { layers, most } = kinds;
  if (most === null) return 'the same';
  const what = most.otherKernels === null ? 'other layers' : `${most.otherKernels} of ${layers} differ`;
  return kinds.kinds === 2 ? what : `${kinds.kinds} kinds, ${what}`;
}
