import type { KeyedCell } from '../../records/cell.ts';
import type { NoisyCell } from './output.ts';
import type { TwoStates } from './two-states.ts';
import { captionLines, cellColumns } from '../../terminal/cell-columns.ts';
import type { Look } from '../../terminal/look.ts';
import { percentText } from './words.ts';
import { count, formatNumber } from '../../terminal/numbers.ts';
import { renderTable } from '../../terminal/table.ts';

const right = 'right' as const;

export type NoisyRow = NoisyCell & { readonly cell: KeyedCell };

type StateRow = NoisyRow & { readonly states: TwoStates };

/** The cells that jump between two levels. */
export function stateTable(cells: readonly NoisyRow[], look: Look): string[] {
  const rows = cells.flatMap((cell): StateRow[] =>
    cell.twoStates === null ? [] : [{ ...cell, states: cell.twoStates }],
  );
  if (rows.length === 0) return [];
  const about = cellColumns(rows, ({ cell }) => cell);
  return [
    '',
    look.style.strong(`${count(rows.length, 'cell')} in two states`),
    ...renderTable<StateRow>(
      [
        ...about.columns,
        { header: 'lower', text: (row) => levelText(row, 0), align: right, dropRank: 1 },
        { header: 'of runs', text: (row) => stateShare(row, 0), align: right, dropRank: 2 },
        { header: 'upper', text: (row) => levelText(row, 1), align: right, dropRank: 1 },
        { header: 'of runs', text: (row) => stateShare(row, 1), align: right, dropRank: 2 },
        { header: 'apart', text: ({ states }) => percentText(states.apartPercent), align: right },
        { header: 'visits', text: ({ states }) => states.visits.join(' and '), align: right, dropRank: 3 },
      ],
      rows,
      look,
    ),
    ...captionLines(about.caption, look),
  ];
}

function levelText({ unit, states }: StateRow, which: 0 | 1): string {
  return `${formatNumber(states.levels[which])} ${unit}`;
}

function stateShare({ states }: StateRow, which: 0 | 1): string {
  return `${states.sharePercent[which].toFixed(0)} %`;
}
