import { type Markup, markup, shortened } from '../../../html/markup.ts';
import type { Column } from '../../../terminal/table.ts';
import { CELL_COLUMNS, filled, GROUP_COLUMNS, worstOf } from '../upgrade/columns.ts';
import type { UpgradeOutput } from '../upgrade/output.ts';
import { aboutLines, answerText, answerTone } from '../upgrade/text.ts';

/** Null on every page but that of an upgrade. Needs no script. */
export function upgradeView(upgrade: UpgradeOutput | null): Markup | null {
  if (upgrade === null) return null;
  const worst = worstOf(upgrade);
  return markup`
<section id="upgrade" aria-labelledby="upgrade-title">
<h2 id="upgrade-title">Upgrade</h2>
<p><b>${shortened(upgrade.headline, 400)}</b></p>
<p class="${answerTone(upgrade)}">${answerText(upgrade)}</p>
<ul>${aboutLines(upgrade).map((line) => markup`<li>${shortened(line, 400)}</li>`)}</ul>
${tableOf('By model and precision', GROUP_COLUMNS, upgrade.groups)}
${worst.length === 0 ? null : tableOf('To look at first', CELL_COLUMNS, worst)}
</section>`;
}

const LONGEST_CELL = 300;

function tableOf<Row>(label: string, columns: readonly Column<Row>[], rows: readonly Row[]): Markup {
  const shown = filled(columns, rows);
  const kind = ({ align }: Column<Row>): string => (align === 'right' ? 'number' : '');
  return markup`<div class="wide" tabindex="0" role="region" aria-label="${label}"><table><caption>${label}</caption>
<thead><tr>${shown.map((column) => markup`<th scope="col" class="${kind(column)}">${column.header}</th>`)}</tr></thead>
<tbody>${rows.map(
    (
      row,
    ) => markup`<tr>${shown.map((column) => markup`<td class="${kind(column)}">${shortened(column.text(row), LONGEST_CELL)}</td>`)}</tr>
`,
  )}</tbody></table></div>`;
}
