import { cellLabel } from '../../../text/cell-label.ts';
import { metricOf } from '../../../records/metric.ts';
import { formatNumber, formatPercent } from '../../../terminal/numbers.ts';
import { cellWords, isChange, ownRows, type Row } from './cell-rows.ts';
import type { ReportData } from './report-data.ts';
import { HEAT_END, heatClass } from '../../../html/page-data.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';

/** A heat map: models and precisions down, shapes and options across. Needs no script. */
export function matrixView(data: ReportData): Markup {
  const cells = data.cells.map(({ cell }) => cell);
  const words = cellWords(cells);
  const own = ownRows(data);
  const placed = cells.map((cell) => {
    const [model = '', precision = '', shape = '', options = ''] = words.wordsOf(cell);
    return {
      cell: own.get(cell.key),
      row: [model, precision].filter(Boolean).join(' '),
      column: [shape, options].filter(Boolean).join(' '),
    };
  });
  const columns = [...new Set(placed.map(({ column }) => column))].toSorted(byNumber);
  const rows = Map.groupBy(placed, ({ row }) => row);
  return markup`
<section id="matrix" aria-labelledby="matrix-title">
<h2 id="matrix-title">Matrix</h2>
<p>The newest value of each cell, colored where it changed.</p>
<p>${legend()}</p>
<div class="wide" tabindex="0" role="region" aria-label="Newest values"><table class="matrix">
<thead><tr><th scope="col">model, precision</th>${columns.map((column) => markup`<th scope="col">${shortened(column === '' ? 'value' : column, 48)}</th>`)}</tr></thead>
<tbody>${[...rows].map(
    ([row, entries]) => markup`<tr><th scope="row">${shortened(row, 64)}</th>${columns.map((column) =>
      square(entries.flatMap((entry) => (entry.column === column ? (entry.cell ?? []) : []))),
    )}</tr>
`,
  )}</tbody></table></div>
<div class="script"><h3>Cells by sweeps</h3><p>One square for each sweep of each cell, in the same colors: against the level before an open change, else against the level now. Blank: no result. A narrow window has the newest sweeps only. Arrow keys move, Enter opens the cell.</p><div id="sweep-map"></div></div>
</section>`;
}

function byNumber(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

function square(rows: readonly Row[]): Markup {
  const [first] = rows;
  if (first === undefined) return markup`<td class="empty"></td>`;
  const { changePercent, verdict } = first;
  const shade = isChange(first) ? heatClass(changePercent ?? 0, verdict === 'slower') : 'h0';
  return markup`<td class="heat ${shade}">${rows.map(squareLink)}</td>`;
}

function squareLink(row: Row): Markup {
  const { changePercent, report, verdict } = row;
  const { cell, metric, values } = report;
  const newest = values.findLast((one) => one !== null) ?? null;
  const value = newest === null ? 'no result' : `${formatNumber(newest.value)} ${metricOf(metric).unit}`;
  const change = isChange(row) && changePercent !== null ? `${formatPercent(changePercent)} ${verdict ?? ''}` : '';
  return markup`<a href="#cell=${cell.key}" title="${shortened(cellLabel(cell), 300)}">${value}<small>${change}</small></a>`;
}

function legend(): Markup {
  const steps = Array.from({ length: 2 * HEAT_END + 1 }, (_, place) => place - HEAT_END);
  return markup`<span class="legend">faster ${steps.map((percent) => {
    const size = Math.abs(percent);
    return markup`<i class="${heatClass(percent, percent > 0)}">${size === HEAT_END ? `≥${size}` : size}</i>`;
  })} % slower</span>`;
}
