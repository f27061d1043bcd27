import { CHANGE_WORDS } from '../../layers/index.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';
import { count, formatMs, formatNumber } from '../../../terminal/numbers.ts';
import { cellLink, namesOf } from './finding-words.ts';
import type { ReportData } from './report-data.ts';

const SHOWN_LAYERS = 5;
const SHOWN_FUSIONS = 3;
const FUSIONS: readonly string[] = [CHANGE_WORDS.split, CHANGE_WORDS.merged];

/** The few layers that changed most, and what fusions were lost or gained; a line where there are no profiles. */
export function layersView({ layers }: ReportData['check']['findings'][number], data: ReportData): Markup | null {
  if (layers === null) return null;
  const { cell, notes, profiled } = layers;
  if (profiled === null) {
    return markup`<p class="none">Layers before and after need ${shortened(notes.join('; '), 300)}.</p>`;
  }
  const { command, diff } = profiled;
  const { baseMs, headMs, moreRows, rows, title } = diff;
  const shown = rows.slice(0, SHOWN_LAYERS);
  const rest = rows.length - shown.length + moreRows;
  const restMs = shown.reduce((left, row) => left - (row.headMs - row.baseMs), headMs - baseMs);
  const fusions = rows.filter(({ change }) => FUSIONS.includes(change)).slice(0, SHOWN_FUSIONS);
  return markup`<h4>Layers before and after</h4>
<p>${cellLink(cell, namesOf(data).get(cell) ?? cell.slice(0, 8))}, ${title}: ${formatMs(baseMs)} → ${formatMs(headMs)} a query.${notes.map((note) => markup` ${shortened(note, 200)}.`)} <code>${command}</code></p>
${fusions.length === 0 ? null : markup`<ul class="fusions">${fusions.map(({ change, detail }) => markup`<li>${change}: ${shortened(detail, 200)}</li>`)}</ul>`}
<div class="wide" tabindex="0" role="region" aria-label="Layers before and after"><table>
<thead><tr><th scope="col">ONNX nodes</th><th scope="col" class="number">change, ms</th><th scope="col" class="number">before, ms</th><th scope="col" class="number">after, ms</th><th scope="col">what</th></tr></thead>
<tbody>${shown.map(
    (
      row,
    ) => markup`<tr><th scope="row">${shortened(row.label, 120)}</th><td class="number">${signedNumber(row.headMs - row.baseMs)}</td><td class="number">${formatNumber(row.baseMs, 3)}</td><td class="number">${formatNumber(row.headMs, 3)}</td><td>${row.change}</td></tr>
`,
  )}${rest === 0 ? null : markup`<tr><th scope="row">${count(rest, 'other change')}</th><td class="number">${signedNumber(restMs)}</td><td></td><td></td><td></td></tr>`}</tbody></table></div>`;
}

function signedNumber(ms: number): string {
  // Sums of times have tiny remainders.
  const rounded = Number(ms.toFixed(5));
  return `${rounded > 0 ? '+' : ''}${formatNumber(rounded, 3)}`;
}
