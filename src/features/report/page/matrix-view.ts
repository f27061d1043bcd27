import { cellLabel } from '../../../text/cell-label.ts';
import { metricOf } from '../../../records/metric.ts';
import { formatNumber, formatPercent } from '../../../terminal/numbers.ts';
import { type Row, rowsOf } from './cell-rows.ts';
import type { ReportData } from './page-data.ts';
import { cellWords } from './cells-view.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';

/** A heat map: models and precisions down, shapes and options across. Needs no script. */
export function matrixView(data: ReportData): Markup {
  const cells = data.cells.map(({ cell }) => cell);
  const words = cellWords(cells);
  const own = new Map(
    data.tables
      .slice(0, 1)
      .flatMap((table) => rowsOf(table, data))
      .map((row) => [row.report.cell.key, row]),
  );
  const placed = cells.map((cell) => {
    const [model = '', precision = '', shape = '', options = ''] = words.wordsOf(cell);
    return {
      cell: own.get(cell.key),
      row: [model, precision].filter(Boolean).join(' '),
      column: [shape, options].filter(Boolean).join(' '),
    };
  });
  const columns = [...new Set(placed.map(({ column }) => column))];
  const rows = Map.groupBy(placed, ({ row }) => row);
  return markup`
<section id="matrix" aria-labelledby="matrix-title">
<h2 id="matrix-title">Matrix</h2>
<p>The newest value of each cell; the color is its change in the table of cells. ${legend()}</p>
<div class="wide" tabindex="0" role="region" aria-label="Newest values"><table class="matrix">
<thead><tr><th scope="col">model, precision</th>${columns.map((column) => markup`<th scope="col">${shortened(column === '' ? 'value' : column, 48)}</th>`)}</tr></thead>
<tbody>${[...rows].map(
    ([row, entries]) => markup`<tr><th scope="row">${shortened(row, 64)}</th>${columns.map((column) =>
      square(entries.flatMap((entry) => (entry.column === column ? (entry.cell ?? []) : []))),
    )}</tr>
`,
  )}</tbody></table></div>
<div id="sweeps-map" class="script"><h3>Cells by sweeps</h3><p>Each square is one sweep of one cell, colored by how far it lies from the level that the cell has now. Arrow keys move, Enter opens the cell.</p><div id="sweep-map"></div></div>
</section>`;
}

function square(rows: readonly Row[]): Markup {
  const [first] = rows;
  if (first === undefined) return markup`<td class="empty"></td>`;
  return markup`<td class="${heatClass(first)}">${rows.map(squareLink)}</td>`;
}

function squareLink({ changePercent, report: { cell, metric, values }, verdict }: Row): Markup {
  const newest = values.findLast((one) => one !== null) ?? null;
  const value = newest === null ? 'no result' : `${formatNumber(newest.value)} ${metricOf(metric).unit}`;
  const text = changePercent === null ? '' : ` ${formatPercent(changePercent)}, ${verdict ?? ''}`;
  return markup`<a href="#cell=${cell.key}" title="${shortened(cellLabel(cell), 300)}">${value}<small>${text}</small></a>`;
}

/** Percent, from one color to the next deeper one. */
const STEPS = [0.5, 2, 5, 15] as const;

function heatClass({ changePercent, report: { metric } }: Row): string {
  if (changePercent === null) return 'heat';
  const depth = STEPS.filter((step) => Math.abs(changePercent) >= step).length;
  if (depth === 0) return 'heat h0';
  return `heat ${changePercent > 0 === (metricOf(metric).betterIs === 'lower') ? 'worse' : 'better'}${depth}`;
}

function legend(): Markup {
  const from = ['better4', 'better3', 'better2', 'better1', 'h0', 'worse1', 'worse2', 'worse3', 'worse4'];
  return markup`<span class="legend"><span>faster</span>${from.map((name) => markup`<i class="heat ${name}"></i>`)}<span>slower</span> (steps: ${STEPS.map((step) => `${step} %`).join(', ')})</span>`;
}
