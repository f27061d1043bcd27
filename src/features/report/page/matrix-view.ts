import { cellLabel } from '../../../text/cell-label.ts';
import { metricOf } from '../../../records/metric.ts';
import { formatNumber, formatPercent } from '../../../terminal/numbers.ts';
import type { ReportCell, ReportData } from './page-data.ts';
import { cellWords } from './cells-view.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';

type Change = { readonly percent: number; readonly isSlower: boolean; readonly words: string };

/** A heat map: models and precisions down, shapes and options across. Needs no script. */
export function matrixView(data: ReportData): Markup {
  const { cells } = data;
  const words = cellWords(cells.map(({ cell }) => cell));
  const placed = cells.map((cell) => {
    const [model = '', precision = '', shape = '', options = ''] = words.wordsOf(cell.cell);
    return {
      cell,
      row: [model, precision].filter(Boolean).join(' '),
      column: [shape, options].filter(Boolean).join(' '),
    };
  });
  const columns = [...new Set(placed.map(({ column }) => column))];
  const rows = Map.groupBy(placed, ({ row }) => row);
  const changes = changesByCell(data);
  return markup`
<section id="matrix" aria-labelledby="matrix-title">
<h2 id="matrix-title">Matrix</h2>
<p>The newest value of each cell; the color says how it changed: since a finding that is confirmed or open (▲ ▼), else against the previous sweep. ${legend()}</p>
<div class="wide" tabindex="0" role="region" aria-label="Newest values"><table class="matrix">
<thead><tr><th scope="col">model, precision</th>${columns.map((column) => markup`<th scope="col">${shortened(column === '' ? 'value' : column, 48)}</th>`)}</tr></thead>
<tbody>${[...rows].map(
    ([row, entries]) => markup`<tr><th scope="row">${shortened(row, 64)}</th>${columns.map((column) =>
      square(
        entries.filter((entry) => entry.column === column).map(({ cell }) => cell),
        changes,
      ),
    )}</tr>
`,
  )}</tbody></table></div>
<div id="sweeps-map" class="script"><h3>Cells by sweeps</h3><p>Each square is one sweep of one cell, colored by how far it lies from the level that the cell has now. Arrow keys move, Enter opens the cell.</p><div id="sweep-map"></div></div>
</section>`;
}

/** Of a change that the gate has reported, where there is one: it lasts. Else that against the previous sweep. */
function changesByCell({ compare, check }: ReportData): Map<string, Change> {
  const reported = check.findings
    .filter(({ acknowledged, state }) => acknowledged === null && (state === 'confirmed' || state === 'open'))
    .flatMap(({ details, direction, state }) => details.map((change) => ({ ...change, direction, state })));
  const against = (compare?.cells ?? []).flatMap(({ key, changePercent, betterIs, verdict }): [string, Change][] => {
    if (changePercent === null || verdict === 'missing') return [];
    const isSlower = changePercent > 0 === (betterIs === 'lower');
    return [[key, { percent: changePercent, isSlower, words: verdict }]];
  });
  return new Map([
    ...against,
    ...reported.map(({ key, changePercent, direction, state }): [string, Change] => [
      key,
      {
        percent: changePercent,
        isSlower: direction === 'slower',
        words: `${direction === 'slower' ? '▲' : '▼'} ${state}`,
      },
    ]),
  ]);
}

function square(cells: readonly ReportCell[], changes: ReadonlyMap<string, Change>): Markup {
  if (cells.length === 0) return markup`<td class="empty"></td>`;
  const [first] = cells;
  const change = first === undefined ? undefined : changes.get(first.cell.key);
  return markup`<td class="${heatClass(change)}">${cells.map((cell) => squareLink(cell, changes.get(cell.cell.key)))}</td>`;
}

function squareLink({ cell, metric, values }: ReportCell, change: Change | undefined): Markup {
  const sweep = values.findLast((one) => one !== null) ?? null;
  const value = sweep === null ? 'no result' : `${formatNumber(sweep.value)} ${metricOf(metric).unit}`;
  const text = change === undefined ? '' : ` ${formatPercent(change.percent)}, ${change.words}`;
  return markup`<a href="#cell=${cell.key}" title="${shortened(cellLabel(cell), 300)}">${value}<small>${text}</small></a>`;
}

/** Percent, from one color to the next deeper one. */
const STEPS = [0.5, 2, 5, 15] as const;

function heatClass(change: Change | undefined): string {
  if (change === undefined) return 'heat';
  const depth = STEPS.filter((step) => Math.abs(change.percent) >= step).length;
  if (depth === 0) return 'heat h0';
  return `heat ${change.isSlower ? 'worse' : 'better'}${depth}`;
}

function legend(): Markup {
  const from = ['better4', 'better3', 'better2', 'better1', 'h0', 'worse1', 'worse2', 'worse3', 'worse4'];
  return markup`<span class="legend"><span>faster</span>${from.map((name) => markup`<i class="heat ${name}"></i>`)}<span>slower</span> (steps: ${STEPS.map((step) => `${step} %`).join(', ')})</span>`;
}
