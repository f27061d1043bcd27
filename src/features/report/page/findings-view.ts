import { changeText, groupText, isPresent, isShownWhole, levelText } from '../../check/index.ts';
import { shiftText } from '../../compare/index.ts';
import { count, formatNumber, formatPercent } from '../../../terminal/numbers.ts';
import { gatedMetricOf } from '../../../records/gated-metric.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';
import type { ReportData } from './page-data.ts';

type Finding = ReportData['check']['findings'][number];

const SIGNS = { slower: '▲ slower', faster: '▼ faster' } as const;
const SHOWN_COMMITS = 10;

/** The same words as `bench check`. */
export function findingsView({ check, compare, sweeps }: ReportData): Markup {
  const { findings, series } = check;
  const shown = findings.filter(isShownWhole);
  const earlier = findings.filter((finding) => !isShownWhole(finding));
  const failed = series.cells.filter(({ status }) => status === 'failed');
  const open = earlier.filter(isPresent).length;
  return markup`
<section id="overview" aria-labelledby="overview-title">
<h2 id="overview-title">Findings</h2>
<ul class="tiles">
${tile('new', shown.length, shown.length > 0 ? 'bad' : '')}
${tile('reported before, still open', open, open > 0 ? 'warn' : '')}
${tile('cells without a result in the newest sweep', failed.length, failed.length > 0 ? 'bad' : '')}
${tile('cells in the newest sweep', series.cells.length, '')}
${tile('sweeps', sweeps.length, '')}
</ul>
<p><b>${shortened(series.headline, 300)}.</b> ${compareLine(compare)}</p>
${shown.map(findingView)}
${earlier.length === 0 ? null : markup`<h3>Reported before</h3>${earlier.map((finding) => changeTable(finding, `Finding ${finding.id.slice(0, 8)}, reported before`))}`}
${failed.length === 0 ? null : markup`<h3>Without a result in the newest sweep</h3><ul>${failed.map(({ key, label, reasons }) => markup`<li>${cellLink(key, label)}: ${shortened(reasons.join(', '), 400)}</li>`)}</ul>`}
${series.notes.map((note) => markup`<p class="note">${note}</p>`)}
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

function findingView(finding: Finding): Markup {
  const { buildChanges, cells, direction, environmentChanges, firstBad, group, likeliestCause: cause, owner } = finding;
  const since = firstBad?.startedAt?.slice(0, 10) ?? 'an unknown date';
  const which = group.length === 0 ? '' : `, ${shortened(groupText(group))}`;
  const changes = [...environmentChanges, ...buildChanges];
  return markup`
<article class="group ${direction}">
<h3>${finding.kind === 'limit' ? 'Limit broken' : `${SIGNS[direction]}, ${finding.state}`}: ${count(cells.length, 'cell')} since ${since}${which}${owner === null ? '' : `, owner ${shortened(owner)}`}</h3>
${cause === null ? null : markup`<p><b>likeliest cause:</b> ${shortened(cause.title, 300)} (${cause.certainty}${cause.explainsPercent === null ? '' : `, accounts for ${formatPercent(cause.explainsPercent, false)}`})</p>`}
${changes.length === 0 ? null : markup`<p><b>in the same sweep, and likelier than a commit:</b> ${shortened(changes.join('; '), 600)}</p>`}
${commitsView(finding)}
${changeTable(finding, `What got ${direction}`)}
</article>`;
}

function commitsView({ lastGood, firstBad, commits }: Finding): Markup | null {
  const [good, bad] = [lastGood?.commit?.slice(0, 8), firstBad?.commit?.slice(0, 8)];
  if (good === undefined || bad === undefined) return null;
  if (good === bad) return markup`<p>Both sweeps measured commit ${good}: no commit did this.</p>`;
  const rest = commits.length - SHOWN_COMMITS;
  return markup`<p>last good <code>${good}</code>, first bad <code>${bad}</code></p>
${commits.length === 0 ? null : markup`<ul class="commits">${commits.slice(0, SHOWN_COMMITS).map(({ commit, subject }) => markup`<li><code>${commit.slice(0, 8)}</code> ${shortened(subject)}</li>`)}${rest > 0 ? markup`<li>and ${rest} more</li>` : null}</ul>`}`;
}

function changeTable({ acknowledged, details, direction, id, state }: Finding, caption: string): Markup {
  const mark = acknowledged === null ? state : 'acknowledged';
  return markup`<div class="wide" tabindex="0" role="region" aria-label="${caption}"><table>
<thead><tr><th scope="col">finding</th><th scope="col">cell</th><th scope="col">metric</th><th scope="col" class="number">before</th><th scope="col" class="number">after</th><th scope="col" class="number">change</th><th scope="col" class="number">evidence</th><th scope="col">state</th></tr></thead>
<tbody>${details.map((change) => changeRow(change, { direction, id, mark }))}</tbody></table></div>`;
}

function changeRow(
  change: Finding['details'][number],
  { direction, id, mark }: Pick<Finding, 'direction' | 'id'> & { readonly mark: string },
): Markup {
  const { after, before, key, label, margin, metric } = change;
  return markup`<tr><td><code>${id.slice(0, 8)}</code></td><th scope="row">${cellLink(key, label)}</th><td>${shortened(gatedMetricOf(metric).label)}</td><td class="number">${levelText(change, before)}</td><td class="number">${levelText(change, after)}</td><td class="number ${direction}">${changeText(change)}</td><td class="number">${formatNumber(margin, 2)}×</td><td>${mark}</td></tr>
`;
}

/** A link that opens the report at the cell. */
export function cellLink(key: string, label: string): Markup {
  return markup`<a href="#cell=${key}">${shortened(label)}</a>`;
}
