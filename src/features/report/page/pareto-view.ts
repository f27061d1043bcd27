import { formatMs, formatNumber } from '../../../terminal/numbers.ts';
import { cellLink, namesOf } from './finding-words.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';
import {
  accuracyText,
  energyText,
  intervalText,
  peakText,
  RATIO,
  shareText,
  speedUpText,
  tallyText,
} from '../../choose/index.ts';
import type { ReportData } from './report-data.ts';

type Pareto = NonNullable<ReportData['pareto']>;
type Choice = Pareto['workloads'][number][number];

/** The same data as `bench choose`. */
export function paretoView(data: ReportData): Markup {
  const { pareto } = data;
  return markup`
<section id="pareto" aria-labelledby="pareto-title">
<h2 id="pareto-title">Precisions</h2>
${
  pareto === null
    ? markup`<p class="note">No cell of the newest sweep has a measurement to choose from.</p>`
    : markup`${pareto.notes.map((note) => markup`<p class="note">${shortened(note, 400)}</p>`)}
${tallies(pareto)}
<div id="pareto-chart" class="script"></div>
<details class="behind"><summary>Show as table</summary>${tables(pareto.workloads, namesOf(data))}</details>`
}
</section>`;
}

function tallies({ precisions }: Pareto): Markup {
  if (precisions.length === 0) return markup`<p class="note">No two cells differ in nothing but their precision.</p>`;
  return markup`<ul>${precisions.map((tally) => {
    const { kind, words } = tallyText(tally);
    const ratios = words.match(RATIO) ?? [];
    const between = words
      .split(RATIO)
      .map((text, place) => markup`${text}<b class="${kind}">${ratios[place] ?? null}</b>`);
    return markup`<li>${between}</li>`;
  })}</ul>`;
}

interface Column {
  readonly header: string;
  readonly text: (choice: Choice) => string;
  readonly isText?: true;
}

const COLUMNS: readonly Column[] = [
  { header: 'items/s', text: ({ itemsPerS }) => formatNumber(itemsPerS) },
  { header: 'speed-up', text: ({ speedUp }) => speedUpText(speedUp) },
  { header: '95 % interval', text: ({ speedUp }) => intervalText(speedUp) },
  { header: 'latency, median', text: ({ latencyMs }) => formatMs(latencyMs) },
  { header: 'p99', text: ({ p99Ms }) => formatMs(p99Ms) },
  { header: 'accuracy', text: accuracyText, isText: true },
  { header: 'engine MiB', text: ({ engineMib }) => formatNumber(engineMib) },
  { header: 'actual precision', text: shareText, isText: true },
  { header: 'of peak', text: peakText },
  { header: 'mJ/item', text: energyText },
  { header: 'runs', text: ({ runs }) => String(runs) },
];

/** A table a model, without columns that are empty in all. */
function tables(workloads: Pareto['workloads'], names: ReadonlyMap<string, string>): Markup[] {
  const columns = COLUMNS.filter(({ text }) => workloads.flat().some((choice) => text(choice) !== ''));
  const head = columns.map((column) => markup`<th scope="col" class="${classOf(column)}">${column.header}</th>`);
  return workloads.map((workload) => {
    const model = shortened(workload[0]?.model ?? '');
    const rows = workload.map((choice) => {
      const { dominatedBy, key, label } = choice;
      const values = columns.map((column) => markup`<td class="${classOf(column)}">${column.text(choice)}</td>`);
      return markup`<tr><td>${dominatedBy === null ? '*' : ''}</td><th scope="row">${cellLink(key, names.get(key) ?? label)}</th>${values}</tr>
`;
    });
    return markup`<div class="wide" tabindex="0" role="region" aria-label="${model}"><table><caption>${model}; * Pareto-optimal: no other is at least as good on every axis</caption>
<thead><tr><td></td><th scope="col">cell</th>${head}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
  });
}

function classOf({ isText }: Column): string {
  return isText === true ? '' : 'number';
}
