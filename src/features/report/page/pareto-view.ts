import { formatDecibels, formatMs, formatNumber, formatPercent } from '../../../terminal/numbers.ts';
import { cellLink, namesOf } from './finding-words.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';
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
  return markup`<ul>${precisions.map(
    ({ precision, reference, pairs, slower, faster, unclear, leastRatio, mostRatio }) => {
      const isSlower = slower > faster;
      const same = pairs - slower - faster;
      const isSame = same >= Math.max(slower, faster);
      const how = isSame ? 'as fast as' : isSlower ? 'slower than' : 'faster than';
      const caveat = unclear === 0 ? '' : `; ${unclear} without a verdict: too few runs`;
      const range = `${leastRatio.toFixed(2)} to ${mostRatio.toFixed(2)}`;
      return markup`<li>${precision.toUpperCase()} is ${how} ${reference.toUpperCase()} in ${isSame ? same : Math.max(slower, faster)} of ${pairs} pairs: <b class="${isSame ? 'same' : isSlower ? 'slower' : 'faster'}">${range}</b> times the throughput${caveat}</li>`;
    },
  )}</ul>`;
}

interface Column {
  readonly header: string;
  readonly text: (choice: Choice) => string;
  readonly isText?: true;
}

const COLUMNS: readonly Column[] = [
  { header: 'items/s', text: ({ itemsPerS }) => formatNumber(itemsPerS) },
  { header: 'speed-up', text: ({ speedUp }) => (speedUp === null ? '' : ratioText(speedUp)) },
  { header: '95 % interval', text: ({ speedUp }) => intervalText(speedUp) },
  { header: 'latency, median', text: ({ latencyMs }) => formatMs(latencyMs) },
  { header: 'p99', text: ({ p99Ms }) => formatMs(p99Ms) },
  { header: 'accuracy', text: accuracyWords, isText: true },
  { header: 'engine MiB', text: ({ engineMib }) => formatNumber(engineMib) },
  { header: 'actual precision', text: realWords, isText: true },
  { header: 'runs', text: ({ runs }) => String(runs) },
];

/** A table a model, without columns that are empty in all. */
function tables(workloads: Pareto['workloads'], names: ReadonlyMap<string, string>): Markup[] {
  const columns = COLUMNS.filter(({ text }) => workloads.flat().some((choice) => text(choice) !== ''));
  const head = columns.map((column) => markup`<th scope="col" class="${kind(column)}">${column.header}</th>`);
  return workloads.map((workload) => {
    const model = shortened(workload[0]?.model ?? '');
    const rows = workload.map((choice) => {
      const { dominatedBy, key, label } = choice;
      const values = columns.map((column) => markup`<td class="${kind(column)}">${column.text(choice)}</td>`);
      return markup`<tr><td>${dominatedBy === null ? '*' : ''}</td><th scope="row">${cellLink(key, names.get(key) ?? label)}</th>${values}</tr>
`;
    });
    return markup`<div class="wide" tabindex="0" role="region" aria-label="${model}"><table><caption>${model}; * Pareto-optimal: no other is at least as good on every axis</caption>
<thead><tr><td></td><th scope="col">cell</th>${head}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
  });
}

function kind({ isText }: Column): string {
  return isText === true ? '' : 'number';
}

type SpeedUp = Choice['speedUp'];

function ratioText({ ratio, verdict }: NonNullable<SpeedUp>): string {
  return `${ratio.toFixed(2)}×${verdict === 'unclear' ? '?' : ''}`;
}

/** None without a verdict: from single runs it would rest on other cells' noise. */
function intervalText(speedUp: SpeedUp): string {
  const interval = speedUp?.interval ?? null;
  if (interval === null || speedUp?.verdict === 'unclear') return '';
  return `${interval[0].toFixed(2)} to ${interval[1].toFixed(2)}×`;
}

function accuracyWords({ accuracy, accuracyState }: Choice): string {
  if (accuracy !== null) return formatDecibels(accuracy.sqnrDb);
  return accuracyState === 'reference' ? 'reference' : 'not checked';
}

function realWords({ precision, realPrecisionShare }: Choice): string {
  const share = realPrecisionShare?.[precision];
  return share === undefined ? '' : `${precision} ${formatPercent(share * 100, false)}`;
}
