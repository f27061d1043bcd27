import type { Column } from '../../../terminal/table.ts';
import { markdown, markdownTable } from '../../export/index.ts';
import { CELL_COLUMNS, filled, GROUP_COLUMNS, worstOf } from './columns.ts';
import type { UpgradeOutput } from './output.ts';
import { aboutLines, answerText } from './text.ts';

const MOST_ROWS = 100;

/** For a pull request or a wiki page. */
export function upgradeMarkdown(upgrade: UpgradeOutput): string {
  const worst = worstOf(upgrade);
  const lines = [
    `### ${markdown(upgrade.headline)}`,
    '',
    `**${markdown(answerText(upgrade))}**`,
    '',
    ...aboutLines(upgrade).map((line) => `- ${markdown(line)}`),
    '',
    ...tableOf(GROUP_COLUMNS, upgrade.groups),
    ...(worst.length === 0 ? [] : ['', '#### To look at first', '', ...tableOf(CELL_COLUMNS, worst)]),
    '',
  ];
  return lines.join('\n');
}

function tableOf<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const shown = filled(columns, rows).map(({ align, header, text }) => ({
    header,
    rule: align === 'right' ? ('--:' as const) : ('---' as const),
    text: (row: Row) => markdown(text(row)),
  }));
  return markdownTable(shown, rows, MOST_ROWS);
}
