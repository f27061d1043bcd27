import type { KeyedCell } from '../../records/cell.ts';
import type { BuiltCell } from './output.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { percentText } from './words.ts';
import { count, formatNumber } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';

const right = 'right' as const;

type BuiltRow = BuiltCell & { readonly cell: KeyedCell };

/** How much builds of the same engine differ, next to their runs. */
export function buildTable(built: readonly BuiltRow[], look: Look): string[] {
  if (built.length === 0) return [];
  const about = cellColumns(built, ({ cell }) => cell);
  return [
    '',
    look.style.strong(`${count(built.length, 'cell')} with several builds of the same engine`),
    ...renderTable<BuiltRow>(
      [
        ...about.columns,
        { header: 'builds', text: ({ builds }) => String(builds), align: right },
        { header: 'runs', text: ({ runs }) => String(runs), align: right, dropRank: 3 },
        { header: 'build ±', text: ({ buildPercent }) => percentText(buildPercent), align: right },
        { header: 'run ±', text: ({ runPercent }) => percentText(runPercent), align: right, dropRank: 2 },
        { header: 'p', text: ({ pValue }) => chanceText(pValue), align: right, dropRank: 1 },
        { header: 'differ', text: ({ differ }) => (differ ? 'yes' : 'not seen') },
        { header: 'kernels', text: ({ kernels }) => kernelWords(kernels) },
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
function kernelWords(kernels: BuiltCell['kernels']): string {
  if (kernels === null) return 'not known';
  const { kinds, layers, otherKernels } = kernels;
  if (kinds === 1) return 'the same';
  const what = otherKernels === null ? 'other layers' : `${otherKernels} of ${layers} differ`;
  return kinds === 2 ? what : `${kinds} kinds, ${what}`;
}
