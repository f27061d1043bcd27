import { shiftText } from '../../compare/index.ts';
import { count, formatDecibels, formatNumber, formatPercent } from '../../../terminal/numbers.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';
import type { ReportData } from './page-data.ts';

type Check = ReportData['check'];
type Group = Check['groups'][number];
type Finding = Group['findings'][number];

const SIGNS = { slower: '▲ slower', faster: '▼ faster' } as const;
const SHOWN_COMMITS = 10;

/** The same words as `bench check`. */
export function findingsView({ check, compare, sweeps }: ReportData): Markup {
  const { groups, earlier, failed, accuracy, notes } = check;
  const reported = groups.flatMap(({ findings }) => findings).length;
  const open = earlier.filter(({ state }) => state === 'open').length;
  return markup`
<section id="overview" aria-labelledby="overview-title">
<h2 id="overview-title">Findings</h2>
<ul class="tiles">
${tile('new', reported, reported > 0 ? 'bad' : '')}
${tile('reported before, still open', open, open > 0 ? 'warn' : '')}
${tile('cells without a result in the newest sweep', failed.length, failed.length > 0 ? 'bad' : '')}
${tile('cells in the newest sweep', check.cells, '')}
${tile('sweeps', sweeps.length, '')}
</ul>
<p>${reported === 0 ? 'No new findings in the newest sweep.' : `${count(reported, 'new finding')} in ${count(groups.length, 'group')}.`} ${compareLine(compare)}</p>
${groups.map(groupView)}
${accuracy.length === 0 ? null : markup`<h3>Accuracy fell</h3><ul>${accuracy.map((fallen) => markup`<li>${shortened(fallen.model)} ${fallen.precision}: ${formatDecibels(fallen.before)} → ${formatDecibels(fallen.after)} SQNR, ${count(fallen.keys.length, 'cell')}</li>`)}</ul>`}
${earlier.length === 0 ? null : markup`<h3>Reported before</h3>${findingTable(earlier, 'Findings that were reported before')}`}
${failed.length === 0 ? null : markup`<h3>Without a result in the newest sweep</h3><ul>${failed.map(({ key, label, reasons }) => markup`<li>${cellLink(key, label)}: ${shortened(reasons.join(', '), 400)}</li>`)}</ul>`}
${notes.map((note) => markup`<p class="note">${note}</p>`)}
</section>`;
}

function tile(text: string, number: number, kind: string): Markup {
  return markup`<li class="tile ${kind}"><b>${number}</b> <span>${text}</span></li>`;
}

function compareLine(compare: ReportData['compare']): Markup {
  if (compare === null) return markup`There is no sweep before this one to compare it with.`;
  const { slower, faster, same, unclear, missing, failed, incomparable } = compare.counts;
  const parts = [
    `${slower} slower`,
    `${faster} faster`,
    `${same} same`,
    ...(unclear > 0 ? [`${unclear} unclear`] : []),
    ...(missing > 0 ? [`${missing} missing`] : []),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(incomparable > 0 ? [`${incomparable} incomparable`] : []),
  ];
  const shift = compare.shift === null ? '' : ` ${shiftText(compare.shift)}.`;
  return markup`Against ${compare.baseRef}: ${parts.join(', ')}.${shift}`;
}

function groupView(group: Group): Markup {
  const { direction, findings, shared, firstBad, cause, changes } = group;
  const since = firstBad?.startedAt?.slice(0, 10) ?? 'an unknown date';
  const which = shared.length === 0 ? '' : `, all ${shortened(shared.join(' '))}`;
  return markup`
<article class="group ${direction}">
<h3>${SIGNS[direction]}: ${count(findings.length, 'cell')} since the night of ${since}${which}</h3>
${cause === null ? null : markup`<p><b>likeliest cause:</b> ${shortened(cause.title, 300)} (${cause.certainty}${cause.explainsPercent === null ? '' : `, accounts for ${formatPercent(cause.explainsPercent, false)}`})</p>`}
${changes.length === 0 ? null : markup`<p><b>on the same night, and likelier than a commit:</b> ${shortened(changes.join('; '), 600)}</p>`}
${commitsView(group)}
${findingTable(findings, `What got ${direction}`)}
</article>`;
}

function commitsView({ lastGood, firstBad, commits }: Group): Markup | null {
  const [good, bad] = [lastGood?.commit?.slice(0, 8), firstBad?.commit?.slice(0, 8)];
  if (good === undefined || bad === undefined) return null;
  if (good === bad) return markup`<p>Both nights measured commit ${good}: no commit did this.</p>`;
  const rest = commits.length - SHOWN_COMMITS;
  return markup`<p>last good <code>${good}</code>, first bad <code>${bad}</code></p>
${commits.length === 0 ? null : markup`<ul class="commits">${commits.slice(0, SHOWN_COMMITS).map(({ commit, subject }) => markup`<li><code>${commit.slice(0, 8)}</code> ${shortened(subject)}</li>`)}${rest > 0 ? markup`<li>and ${rest} more</li>` : null}</ul>`}`;
}

function findingTable(findings: readonly Finding[], caption: string): Markup {
  return markup`<div class="wide" tabindex="0" role="region" aria-label="${caption}"><table>
<thead><tr><th scope="col">finding</th><th scope="col">cell</th><th scope="col" class="number">before</th><th scope="col" class="number">after</th><th scope="col" class="number">change</th><th scope="col" class="number">evidence</th><th scope="col">state</th></tr></thead>
<tbody>${findings.map(findingRow)}</tbody></table></div>`;
}

function findingRow(finding: Finding): Markup {
  const { id, key, label, unit, before, after, changePercent, margin, state } = finding;
  return markup`<tr><td><code>${id.slice(0, 8)}</code></td><th scope="row">${cellLink(key, label)}</th><td class="number">${formatNumber(before)} ${unit}</td><td class="number">${formatNumber(after)} ${unit}</td><td class="number ${finding.direction}">${formatPercent(changePercent)}</td><td class="number">${formatNumber(margin, 2)}×</td><td>${state}</td></tr>
`;
}

/** A link that opens the report at the cell. */
export function cellLink(key: string, label: string): Markup {
  return markup`<a href="#cell=${key}">${shortened(label)}</a>`;
}
