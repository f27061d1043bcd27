import { type Markup, markup, shortened, shortRef } from '../../../html/markup.ts';
import { metricOf } from '../../../records/metric.ts';
import { median } from '../../../statistics/order-statistics.ts';
import { count, formatPercent, meanChangeText, rangeText } from '../../../terminal/numbers.ts';
import { shellLine } from '../../../text/shell-quote.ts';
import { firstOfEach, isPresent, isShownWhole, newFirst, nextCommands, standingOf } from '../../check/index.ts';
import type { CheckedFinding } from '../../check/index.ts';
import { verdictLine } from '../../compare/index.ts';
import { type PageModel, aboutText, capitalized, cellsText, commitLink, factList, factsOf } from './cell-rows.ts';

/**
 * Content of the first screen. `what` has the color of the tone, `cell` is the key of the cell in the chart, and
 * `finding` the ID of the finding in the headline.
 */
export type Story = ReturnType<typeof storyOf>;

type Compared = NonNullable<PageModel['compare']>;

export function storyOf(page: PageModel) {
  if (page.compare !== null) return comparedStory(page, page.compare);
  const { findings, series } = page.check;
  const { failed, faster, limits, slower, warnings } = standingOf(findings, series.cells);
  const [worst] = [newFirst([...slower, ...limits]), warnings, faster].find(({ length }) => length > 0) ?? [];
  if (worst !== undefined) return findingStory(worst, page);
  const first = 'This is the first sweep of this matrix and branch. bench compares the next one with it.';
  const lead = markup`${series.judgedBy === 'first' ? first : detectableText(page)}`;
  const tone = failed > 0 || page.check.gate.findings.length > 0 ? 'slower' : 'quiet';
  const none = { facts: [], commands: [], finding: null };
  const { headline } = page.check.gate;
  // Of several series, the name of a matrix comes first.
  const what = headline === series.headline ? capitalized(headline) : headline;
  return { tone, what, size: '', lead, cell: steadiest(page), ...none };
}

/** The story of the worst finding, and of all of them the headline of `bench check`. */
function findingStory(worst: CheckedFinding, page: PageModel) {
  const { findings, isStored, series } = page.check;
  const [what, size] = cellsText(worst, page);
  const keys = new Set(page.cells.map(({ cell }) => cell.key));
  const own = firstOfEach(worst).find(({ key }) => keys.has(key));
  const isOnly = findings.every((one) => one.id === worst.id || !(isShownWhole(one) || isPresent(one)));
  const base = series.baseBranch === null ? '' : ` Compared with ${shortened(series.baseBranch, 60)}.`;
  const lead = markup`${aboutText(worst, page)}${isOnly ? base : markup` <a href="#findings">All: ${series.headline}</a>`}`;
  const commands = [...(isStored ? [] : ['bench check']), ...nextCommands(worst, series)];
  const shown = { facts: factsOf(worst, page), cell: own?.key ?? steadiest(page), finding: worst.id };
  return { tone: worst.direction, what, size, lead, commands, ...shown };
}

/** For a sweep without findings: the change that would have been detected. */
function detectableText({ cells }: PageModel): string {
  const effects = cells.flatMap(({ judgement }) => judgement.mdePercent ?? []);
  const middle = median(effects);
  if (middle === null) return 'One run of a cell does not show its noise: measure with three or more runs a sweep.';
  return `A change of ${formatPercent(middle, false)} would have been found nine times in ten in half of the cells, and one of ${formatPercent(Math.max(...effects), false)} in ${effects.length === cells.length ? 'all of them' : `${effects.length} of ${cells.length}`}. Smaller ones show after more sweeps.`;
}

/** The first cell of the table that has a value. */
function steadiest({ rows }: PageModel): string | null {
  return rows.find(({ report }) => report.values.some((one) => one !== null))?.report.cell.key ?? null;
}

/** Of two named sides: how many cells changed, and by how much, else the headline of `bench compare`. */
function comparedStory(page: PageModel, { base, baseRef, cells, counts, head, headRef }: Compared) {
  const refs = [shortRef(baseRef), shortRef(headRef)] as const;
  const tone = counts.slower > 0 ? 'slower' : counts.faster > 0 ? 'faster' : 'quiet';
  const changed = cells.filter(({ verdict }) => verdict === tone);
  const sizes = changed.map(({ changePercent }) => Math.abs(changePercent ?? 0));
  const worst = changed[sizes.indexOf(Math.max(...sizes))]?.key ?? null;
  const what = worst === null ? verdictLine(counts) : `${changed.length} of ${count(cells.length, 'cell')} ${tone}`;
  const size = worst === null ? '' : ` by ${rangeText(sizes)}`;
  const notes = [base.note, head.note].flatMap((note) => (note === null ? [] : `${shortened(note, 200)}.`));
  const lead = markup`<b>${refs[1]}</b> against <b>${refs[0]}</b>. ${notes.join(' ')}`;
  const why = worst === null ? [] : [shellLine(['bench', 'why', worst.slice(0, 8), ...refs])];
  const commands = [...why, shellLine(['bench', 'compare', ...refs])];
  return { tone, what, size, lead, facts: [], commands, cell: worst ?? steadiest(page), finding: null };
}

/** The finding, its size, start, certainty and next commands; the chart of the worst cell; the counts. */
export function firstScreen(page: PageModel, story: Story): Markup {
  const { commands, facts, lead, size, tone, what } = story;
  const folded = markup`<details class="commands"><summary>Next commands</summary><ul>${commands.map((command) => markup`<li><code>${command}</code></li>`)}</ul></details>`;
  return markup`<header>
${metaLine(page)}
<section id="overview" aria-labelledby="headline">
<div class="hero">
<div>
<h1 id="headline"><span class="${tone}">${what}</span>${size}</h1>${page.notes.map((note) => markup`<p class="about">${shortened(note, 400)}</p>`)}
<p class="lead">${lead}</p>
</div>
${firstChart(page, story)}
<div>
${factList(facts)}
${commands.length === 0 ? null : folded}
</div>
</div>
${countsRow(page)}
</section>
${page.series.olderSweeps === 0 ? null : markup`<p class="about">${count(page.series.olderSweeps, 'older sweep')} of this series: not on this page.</p>`}
</header>`;
}

function metaLine({ environments, forge, series, sweeps }: PageModel): Markup {
  const newest = sweeps.at(-1);
  const { driver = null, gpuName = null, tensorrt = null } = environments.at(-1) ?? {};
  const set = newest?.recordingSet ?? null;
  const commit = newest?.commit ?? null;
  const parts = [
    markup`<b>${shortened(series.matrix ?? 'imported results', 60)}</b>`,
    markup`${shortened(series.branch ?? 'no branch', 60)}${commit === null ? null : markup` ${commitLink({ forge }, commit)}${newest?.dirty === true ? '+dirty' : null}`}`,
    markup`${newest?.startedAt?.slice(0, 10) ?? 'an unknown date'}, ${sweeps.length === 1 ? 'one sweep' : `sweep ${sweeps.length + series.olderSweeps}`}`,
    gpuName === null ? null : shortened(gpuName, 60),
    tensorrt === null ? null : shortened(`TensorRT ${tensorrt}`, 60),
    driver === null ? null : shortened(`driver ${driver}`, 60),
    markup`<strong class="provenance ${series.provenance}">${series.provenance}${set === null ? '' : ` (${shortened(set, 40)})`}</strong>`,
  ].filter((part) => part !== null);
  return markup`<p class="meta">${parts.map((part) => markup`<span>${part}</span> `)}</p>`;
}

/** The script draws the chart in this figure; without a script it is hidden. */
function firstChart(page: PageModel, { cell: key }: Story): Markup | null {
  const shown = page.cells.find(({ cell }) => cell.key === key);
  if (shown === undefined) return null;
  const runs = shown.runs.findLast((one) => one !== null) ?? 1;
  const how = runs > 1 ? `, median of ${runs} runs` : '';
  return markup`<figure class="first-chart script" data-cell="${shown.cell.key}"><figcaption><a href="#cell=${shown.cell.key}"><b>${shortened(page.names.get(shown.cell.key) ?? '', 80)}</b></a> <span>${shortened(metricOf(shown.metric).label, 60)}${how}</span></figcaption></figure>`;
}

/** Verdicts that are always shown. Others appear only if some cell has them. */
const COUNTED = ['slower', 'faster', 'same'];
const WARNED = ['no result', 'failed', 'missing'];

function countsRow(page: PageModel): Markup {
  const means = page.compare?.geometricMeans.filter(({ by }) => by === 'all') ?? [];
  const mean = page.compare === null ? page.check.series.geometricMean : means.length === 1 ? (means[0] ?? null) : null;
  const byVerdict = Map.groupBy(page.rows, ({ verdict }) => verdict ?? 'no result');
  const words = [...new Set([...COUNTED, ...[...byVerdict.keys()].toSorted()])];
  const toneOf = (word: string): string =>
    !byVerdict.has(word) || word === 'same' ? '' : WARNED.includes(word) ? 'warn' : word;
  const interval = mean === null || mean.ciPercent === null ? '' : ` ${meanChangeText(mean).replace(/^[^(]*/, '')}`;
  return markup`<ul class="counts">
${words.map((word) => tile(byVerdict.get(word)?.length ?? 0, word, toneOf(word)))}
${mean === null ? null : tile(formatPercent(mean.changePercent), `geometric mean${interval}, ${count(mean.cells, 'cell')}`)}
</ul>`;
}

function tile(number: string | number, text: string, tone = ''): Markup {
  return markup`<li><b class="${tone}">${number}</b> <span>${text}</span></li>`;
}
