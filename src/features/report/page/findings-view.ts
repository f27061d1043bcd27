import { changeText, firstOfEach, isShownWhole, levelText } from '../../check/index.ts';
import { type Comparison, shiftText } from '../../compare/index.ts';
import { gatedMetricOf } from '../../../records/gated-metric.ts';
import { type Markup, markup, shortened, shortRef } from '../../../html/markup.ts';
import { count, formatNumber } from '../../../terminal/numbers.ts';
import { reasonWords } from '../../../terminal/words.ts';
import { ownRows } from './cell-rows.ts';
import { cellSparks } from './cell-sparks.ts';
import {
  aboutText,
  capitalized,
  cellLink,
  type Change,
  commitLink,
  factList,
  factsOf,
  namesOf,
  cellsText,
} from './finding-words.ts';
import { layersView } from './layers-view.ts';
import type { ReportData } from './report-data.ts';
import { storyOf } from './story.ts';

const SHOWN_COMMITS = 10;
const SHOWN_CELLS = 12;

type Finding = ReportData['check']['findings'][number];

/** The same words as `bench check`: what is there, new findings first, then what was reported before. */
export function findingsView(data: ReportData): Markup {
  const { findings, series } = data.check;
  const above = storyOf(data).finding;
  const shown = findings.filter(isShownWhole);
  const earlier = findings.filter((finding) => !isShownWhole(finding));
  const failed = series.cells.filter(({ reason }) => reason === 'failed');
  return markup`
<section id="findings" aria-labelledby="findings-title">
<h2 id="findings-title">Findings</h2>
<p class="none">${data.compare === null ? `${capitalized(series.headline)}.` : compareLine(data.compare)}</p>
${shown.map((finding) => findingView(finding, data, finding.id === above))}
${earlier.length === 0 ? null : markup`<h3>Reported before</h3><ul class="earlier">${earlier.map((finding) => earlierLine(finding, data))}</ul>`}
${failed.length === 0 ? null : markup`<h3>Without a result in the newest sweep</h3><ul>${failed.map(({ key, label, notes }) => markup`<li>${cellLink(key, label)}: ${shortened(notes.map(reasonWords).join(', '), 400)}</li>`)}</ul>`}
${series.notes.map((note) => markup`<p class="note">${note}</p>`)}
</section>`;
}

function compareLine(compare: Comparison): Markup {
  const verdicts = ['slower', 'faster', 'same', 'unclear', 'missing', 'failed', 'incomparable'] as const;
  const parts = verdicts
    .filter((verdict) => compare.counts[verdict] > 0)
    .map((verdict) => `${compare.counts[verdict]} ${verdict}`);
  const shift = compare.shift === null ? '' : ` ${shiftText(compare.shift)}.`;
  return markup`Between ${shortRef(compare.baseRef)} and ${shortRef(compare.headRef)} alone: ${parts.join(', ')}.${shift}`;
}

/** @param isAbove the first screen has its facts */
function findingView(finding: Finding, data: ReportData, isAbove: boolean): Markup {
  const { direction, id } = finding;
  const [what, size] = cellsText([finding]);
  return markup`
<article class="finding" aria-labelledby="finding-${id.slice(0, 8)}">
<h3 id="finding-${id.slice(0, 8)}"><span class="${direction}">${what}</span>${size} <small><code>${id.slice(0, 8)}</code></small></h3>
<p>${aboutText(finding, data)}</p>
${isAbove ? null : factList(factsOf(finding, data))}
${smallMultiples(finding, data)}
${layersView(finding, data)}
${commitsView(finding, data)}
${changeTable(finding)}
</article>`;
}

/** A picture of each cell, all of them on one scale. */
function smallMultiples(finding: Finding, data: ReportData): Markup {
  const names = namesOf(data);
  const [rows, sparks] = [ownRows(data), cellSparks(data)];
  const changes = firstOfEach(finding);
  const rest = changes.length - SHOWN_CELLS;
  return markup`<ul class="multiples">${changes.slice(0, SHOWN_CELLS).map((change) => {
    const row = rows.get(change.key);
    return markup`<li><a href="#cell=${change.key}">${shortened(names.get(change.key) ?? change.label, 60)}</a> <b class="${finding.direction}">${changeText(change)}</b>${row === undefined ? null : sparks.of(row)}</li>`;
  })}</ul>${rest > 0 ? markup`<p class="none">and ${count(rest, 'more cell')}</p>` : null}`;
}

function commitsView({ commits }: Finding, data: ReportData): Markup | null {
  if (commits.length < 2) return null;
  const rest = commits.length - SHOWN_COMMITS;
  return markup`<details><summary>${count(commits.length, 'commit')}, the newest first</summary><ul class="commits">${commits.slice(0, SHOWN_COMMITS).map(({ commit, subject }) => markup`<li>${commitLink(data, commit)} ${shortened(subject)}</li>`)}${rest > 0 ? markup`<li>and ${rest} more</li>` : null}</ul></details>`;
}

function changeTable(finding: Finding): Markup {
  const { details, direction } = finding;
  return markup`<details><summary>Before and after, by cell and metric</summary><div class="wide" tabindex="0" role="region" aria-label="Before and after of ${cellsText([finding]).join('')}"><table>
<thead><tr><th scope="col">cell</th><th scope="col">metric</th><th scope="col" class="number">before</th><th scope="col" class="number">after</th><th scope="col" class="number">change</th><th scope="col" class="number">evidence</th></tr></thead>
<tbody>${details.map((change) => changeRow(change, direction))}</tbody></table></div></details>`;
}

function changeRow(change: Change, direction: Finding['direction']): Markup {
  const { after, before, key, label, margin, metric } = change;
  return markup`<tr><th scope="row">${cellLink(key, label)}</th><td>${shortened(gatedMetricOf(metric).label)}</td><td class="number">${levelText(change, before)}</td><td class="number">${levelText(change, after)}</td><td class="number ${direction}">${changeText(change)}</td><td class="number">${formatNumber(margin, 2)}×</td></tr>
`;
}

/** What became of it, on a line. */
function earlierLine(finding: Finding, data: ReportData): Markup {
  const [what, size] = cellsText([finding]);
  return markup`<li><code>${finding.id.slice(0, 8)}</code> ${what}${size}: ${aboutText(finding, data)}</li>`;
}
