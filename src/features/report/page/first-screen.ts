import type { Environment } from '../../../records/environment.ts';
import { metricOf } from '../../../records/metric.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';
import { count, formatPercent, meanChangeText } from '../../../terminal/numbers.ts';
import { commitLink, dateText, factList, namesOf } from './finding-words.ts';
import type { ReportData } from './report-data.ts';
import { type Story, storyOf } from './story.ts';

/** What, how much, since when, how sure, and what next; the chart of the worst cell; the counts. */
export function firstScreen(data: ReportData): Markup {
  const story = storyOf(data);
  const { commands, facts, headline, lead, tone } = story;
  return markup`<header>
${metaLine(data)}
<section id="overview" aria-labelledby="headline">
<div class="hero">
<div>
<h1 id="headline"><span class="${tone}">${headline[0]}</span>${headline[1]}</h1>
<p class="lead">${lead}</p>
${factList(facts)}
${commands.length === 0 ? null : markup`<ul class="commands" aria-label="To be typed next">${commands.map((command) => markup`<li><code>${command}</code></li>`)}</ul>`}
</div>
${firstChart(data, story)}
</div>
${countsRow(story)}
</section>
${aboutSeries(data)}
</header>`;
}

function metaLine(data: ReportData): Markup {
  const { environments, series, sweeps } = data;
  const newest = sweeps.at(-1);
  const environment = environments.at(-1);
  const set = newest?.recordingSet ?? null;
  const commit = newest?.commit ?? null;
  const parts = [
    markup`<b>${shortened(series.matrix ?? 'imported results', 60)}</b>`,
    markup`${shortened(series.branch ?? 'no branch', 60)}${commit === null ? null : markup` ${commitLink(data, commit)}${newest?.dirty === true ? '+dirty' : null}`}`,
    markup`${dateText(newest?.startedAt)}, ${sweeps.length === 1 ? 'one sweep' : `sweep ${sweeps.length + series.olderSweeps}`}`,
    ...environmentWords(environment).map((words) => markup`${shortened(words, 60)}`),
    markup`<strong class="provenance ${series.provenance}">${series.provenance}${set === null ? '' : ` (${shortened(set, 40)})`}</strong>`,
  ];
  return markup`<p class="meta">${parts.map((part) => markup`<span>${part}</span> `)}</p>`;
}

function environmentWords(environment: Environment | undefined): string[] {
  const { driver = null, gpuName = null, tensorrt = null } = environment ?? {};
  return [
    ...(gpuName === null ? [] : [gpuName]),
    ...(tensorrt === null ? [] : [`TensorRT ${tensorrt}`]),
    ...(driver === null ? [] : [`driver ${driver}`]),
  ];
}

/** The script draws the chart in the figure; without it the line says where it is. */
function firstChart(data: ReportData, { cell: key }: Story): Markup | null {
  const shown = data.cells.find(({ cell }) => cell.key === key);
  if (shown === undefined) return null;
  const runs = shown.values.findLast((one) => one !== null)?.runs ?? 1;
  const how = runs > 1 ? `, median of ${runs} runs` : '';
  return markup`<figure class="first-chart script" data-cell="${shown.cell.key}"><figcaption><a href="#cell=${shown.cell.key}"><b>${shortened(namesOf(data).get(shown.cell.key) ?? '', 80)}</b></a> <span>${shortened(metricOf(shown.metric).label, 60)}${how}</span></figcaption><div></div></figure>`;
}

const TONES: Readonly<Record<string, string>> = {
  slower: 'slower',
  faster: 'faster',
  'no result': 'warn',
  failed: 'warn',
  missing: 'warn',
};

function countsRow({ counts: { cells, mean } }: Story): Markup {
  return markup`<ul class="counts">
${cells.map(([number, verdict]) => tile(number, verdict, number > 0 ? TONES[verdict] : ''))}
${mean === null ? null : tile(formatPercent(mean.changePercent), `geometric mean${mean.ciPercent === null ? '' : ` ${meanChangeText(mean).replace(/^[^(]*/, '')}`}, ${count(mean.cells, 'cell')}`)}
</ul>`;
}

function tile(number: string | number, text: string, tone = ''): Markup {
  return markup`<li><b class="${tone}">${number}</b> <span>${text}</span></li>`;
}

function aboutSeries({ others, series }: ReportData): Markup {
  return markup`${series.olderSweeps === 0 ? null : markup`<p class="about">${count(series.olderSweeps, 'older sweep')} of this series: not in this report (--last).</p>`}
${others.length === 0 ? null : markup`<details class="about"><summary>Also in the store: ${count(others.length, 'other series', 'other series')}</summary><ul>${others.map((other) => markup`<li>${other.provenance}, ${shortened(other.matrix ?? 'no matrix')}, ${shortened(other.branch ?? 'no branch')}: ${count(other.sweeps, 'sweep')}${other.headline === null ? null : markup` · <b>${shortened(other.headline, 200)}</b>`}</li>`)}</ul></details>`}`;
}
