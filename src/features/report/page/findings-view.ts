import { type HtmlColumn, htmlTable, type Markup, markup, shortened, shortRef } from '../../../html/markup.ts';
import { gatedMetricOf } from '../../../records/gated-metric.ts';
import { count, formatMs, formatNumber, signedMs } from '../../../terminal/numbers.ts';
import { reasonWords } from '../../../terminal/words.ts';
import { changeText, isShownWhole, levelText } from '../../check/index.ts';
import { shiftText } from '../../compare/index.ts';
import { CHANGE_WORDS } from '../../layers/index.ts';
import {
  type Change,
  type PageModel,
  aboutText,
  capitalized,
  cellLink,
  cellsText,
  commitLink,
  factList,
  factsOf,
  findingAnchor,
} from './cell-rows.ts';
import type { FindingLayers } from '../layers.ts';

const SHOWN_COMMITS = 10;
const SHOWN_LAYERS = 5;
const SHOWN_FUSIONS = 3;
const FUSIONS: readonly string[] = [CHANGE_WORDS.split, CHANGE_WORDS.merged];

/**
 * Findings in the words of `bench check`: present ones first, new before open, then earlier ones. Null if there is
 * nothing to say.
 * @param above ID of the finding whose facts are on the first screen
 */
export function findingsView(page: PageModel, above: string | null): Markup | null {
  const { findings, series } = page.check;
  const [shown, earlier] = [findings.filter(isShownWhole), findings.filter((finding) => !isShownWhole(finding))];
  const failed = series.cells.filter(({ reason }) => reason === 'failed');
  if (findings.length + failed.length + series.notes.length === 0) return null;
  return markup`
<section id="findings" aria-labelledby="findings-title">
<h2 id="findings-title">Findings</h2>
<p class="none">${leadOf(page)}</p>
${shown.map((finding) => findingView(finding, page, finding.id === above))}
${earlier.length === 0 ? null : markup`<h3>Reported before</h3><ul class="list">${earlier.map((finding) => markup`<li id="${findingAnchor(finding)}">${cellsText(finding, page)}: ${aboutText(finding, page)}</li>`)}</ul>`}
${failed.length === 0 ? null : markup`<h3>Without a result in the newest sweep</h3><ul>${failed.map(({ key, label, notes }) => markup`<li>${cellLink(key, label)}: ${shortened(notes.map(reasonWords).join(', '), 400)}</li>`)}</ul>`}
${series.notes.map((note) => markup`<p class="note">${note.replace(/; --.*/, '')}</p>`)}
</section>`;
}

function leadOf({ check, compare }: PageModel): string {
  if (compare === null) return `${capitalized(check.series.headline)}.`;
  const shift = compare.shift === null ? '' : ` ${shiftText(compare.shift)}.`;
  return `In all sweeps up to ${shortRef(compare.headRef)}: ${check.series.headline}.${shift}`;
}

/** @param isAbove whether the first screen has its facts */
function findingView(finding: PageModel['check']['findings'][number], page: PageModel, isAbove: boolean): Markup {
  const { commits, details, direction, id, layers } = finding;
  const [what, size] = cellsText(finding, page);
  const anchor = findingAnchor(finding);
  const columns = [
    { header: 'cell', show: ({ key, label }: Change) => cellLink(key, label) },
    { header: 'metric', show: ({ metric }: Change) => shortened(gatedMetricOf(metric).label) },
    { header: 'before', kind: 'number', show: (change: Change) => levelText(change, change.before) },
    { header: 'after', kind: 'number', show: (change: Change) => levelText(change, change.after) },
    { header: 'change', kind: `number ${direction}`, show: changeText },
    { header: 'against its noise', kind: 'number', show: ({ margin }: Change) => `${formatNumber(margin, 2)} times` },
  ];
  const more = commits.length - SHOWN_COMMITS;
  return markup`
<article class="finding" id="${anchor}" aria-labelledby="${anchor}-title">
<h3 id="${anchor}-title"><span class="${direction}">${what}</span>${size} <small>finding <code>${id.slice(0, 8)}</code></small></h3>
<p>${aboutText(finding, page)}</p>
${isAbove ? null : factList(factsOf(finding, page))}
${layers === null ? null : layersView(layers, page)}
${commits.length < 2 ? null : markup`<details><summary>${count(commits.length, 'commit')}, the newest first</summary><ul class="list">${commits.slice(0, SHOWN_COMMITS).map(({ commit, subject }) => markup`<li>${commitLink(page, commit)} ${shortened(subject)}</li>`)}${more > 0 ? markup`<li>and ${more} more</li>` : null}</ul></details>`}
<details open><summary>Before and after, by cell and metric</summary>${htmlTable(`Before and after of ${what}${size}`, columns, details)}</details>
</article>`;
}

/** The few layers that changed most, and lost or gained fusions. */
function layersView({ baseMs, cell, command, headMs, notes, rows, title }: FindingLayers, page: PageModel): Markup {
  const fusions = rows.filter(({ change }) => FUSIONS.includes(change)).slice(0, SHOWN_FUSIONS);
  const columns: readonly HtmlColumn<(typeof rows)[number]>[] = [
    { header: 'ONNX nodes', show: ({ label }) => label },
    { header: 'change', kind: 'number', show: ({ deltaMs }) => signedMs(deltaMs) },
    { header: 'before', kind: 'number', show: (row) => formatMs(row.baseMs) },
    { header: 'after', kind: 'number', show: (row) => formatMs(row.headMs) },
    { header: 'what', show: ({ change }) => change },
  ];
  return markup`<h4>Layers before and after</h4>
<p>${cellLink(cell, page.names.get(cell) ?? cell.slice(0, 8))}, ${title}: ${formatMs(baseMs)} \u2192 ${formatMs(headMs)} a query.${notes.map((note) => markup` ${shortened(note, 200)}.`)}</p>
<ul class="commands"><li><code>${command}</code></li></ul>
${fusions.length === 0 ? null : markup`<ul class="list fusions">${fusions.map(({ change, detail }) => markup`<li>${change}: ${detail}</li>`)}</ul>`}
${htmlTable('Largest changes', columns, rows.slice(0, SHOWN_LAYERS))}`;
}
