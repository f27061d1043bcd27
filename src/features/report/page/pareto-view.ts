import { type HtmlColumn, htmlTable, type Markup, markup, shortened } from '../../../html/markup.ts';
import { formatMs, formatNumber } from '../../../terminal/numbers.ts';
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
import { cellLink, namesOf } from './finding-words.ts';
import type { ReportData } from './report-data.ts';

type Pareto = NonNullable<ReportData['pareto']>;
type Choice = Pareto['workloads'][number][number];

/** The same data as `bench choose`; null where no cell has a measurement. */
export function paretoView(data: ReportData): Markup | null {
  const { pareto } = data;
  if (pareto === null) return null;
  const names = namesOf(data);
  const columns: readonly HtmlColumn<Choice>[] = [
    { header: 'cell', show: ({ key, label }) => cellLink(key, names.get(key) ?? label) },
    ...COLUMNS.filter(({ show }) => pareto.workloads.flat().some((choice) => show(choice) !== '')),
  ];
  const tables = pareto.workloads.map((workload) =>
    htmlTable(
      `${shortened(workload[0]?.model ?? '')}; * Pareto-optimal: no other is at least as good on every axis`,
      columns,
      workload,
    ),
  );
  return markup`
<section id="pareto" aria-labelledby="pareto-title">
<h2 id="pareto-title">Precisions</h2>
${pareto.notes.map((note) => markup`<p class="note">${shortened(note, 400)}</p>`)}
${tallies(pareto)}
<div id="pareto-chart" class="script"></div>
<details class="behind"><summary>Show as table</summary>${tables}</details>
</section>`;
}

function tallies({ precisions }: Pareto): Markup | null {
  if (precisions.length === 0) return null;
  return markup`<ul>${precisions.map((tally) => {
    const { kind, words } = tallyText(tally);
    const ratios = words.match(RATIO) ?? [];
    const between = words
      .split(RATIO)
      .map((text, place) => markup`${text}<b class="${kind}">${ratios[place] ?? null}</b>`);
    return markup`<li>${between}</li>`;
  })}</ul>`;
}

/** Those that are empty in all rows are left out. */
const COLUMNS: readonly HtmlColumn<Choice>[] = [
  { header: 'optimal', show: ({ dominatedBy }) => (dominatedBy === null ? '*' : '') },
  { header: 'items/s', show: ({ itemsPerS }) => formatNumber(itemsPerS), kind: 'number' },
  { header: 'speed-up', show: ({ speedUp }) => speedUpText(speedUp), kind: 'number' },
  { header: 'speed-up, 95 % interval', show: ({ speedUp }) => intervalText(speedUp), kind: 'number' },
  { header: 'latency, median', show: ({ latencyMs }) => formatMs(latencyMs), kind: 'number' },
  { header: 'p99', show: ({ p99Ms }) => formatMs(p99Ms), kind: 'number' },
  { header: 'accuracy', show: accuracyText },
  { header: 'engine MiB', show: ({ engineMib }) => formatNumber(engineMib), kind: 'number' },
  { header: 'actual precision', show: shareText },
  { header: 'of peak', show: peakText, kind: 'number' },
  { header: 'mJ/item', show: energyText, kind: 'number' },
  { header: 'runs', show: ({ runs }) => String(runs), kind: 'number' },
];
