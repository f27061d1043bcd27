import { formatDecibels, formatMs, formatNumber, formatPercent } from '../../../terminal/numbers.ts';
import { cellLink } from './finding-words.ts';
import { type Markup, markup, shortened } from '../../../html/markup.ts';
import type { ReportData } from './report-data.ts';

type Pareto = NonNullable<ReportData['pareto']>;
type Choice = Pareto['workloads'][number][number];

/** The same data as `bench choose`. */
export function paretoView({ pareto }: ReportData): Markup {
  return markup`
<section id="pareto" aria-labelledby="pareto-title">
<h2 id="pareto-title">Precisions</h2>
${
  pareto === null
    ? markup`<p class="note">No cell of the newest sweep has a measurement to choose from.</p>`
    : markup`${pareto.notes.map((note) => markup`<p class="note">${shortened(note, 400)}</p>`)}
${tallies(pareto)}
<div id="pareto-chart" class="script"></div>
${pareto.workloads.map(workloadTable)}`
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
      return markup`<li class="${isSame ? 'same' : isSlower ? 'slower' : 'faster'}">${precision.toUpperCase()} is ${how} ${reference.toUpperCase()} in ${isSame ? same : Math.max(slower, faster)} of ${pairs} pairs: ${leastRatio.toFixed(2)} to ${mostRatio.toFixed(2)} times the throughput${caveat}</li>`;
    },
  )}</ul>`;
}

function workloadTable(workload: readonly Choice[]): Markup {
  const model = shortened(workload[0]?.model ?? '');
  return markup`<div class="wide" tabindex="0" role="region" aria-label="${model}"><table><caption>${model}: on the front (*) are those that no other one beats in something while being worse in nothing</caption>
<thead><tr><th scope="col">front</th><th scope="col">cell</th><th scope="col" class="number">items/s</th><th scope="col" class="number">speed-up</th><th scope="col" class="number">95 % interval</th><th scope="col" class="number">latency, median</th><th scope="col" class="number">p99</th><th scope="col">accuracy</th><th scope="col" class="number">engine MiB</th><th scope="col">actual precision</th><th scope="col" class="number">runs</th></tr></thead>
<tbody>${workload.map(choiceRow)}</tbody></table></div>`;
}

function choiceRow(choice: Choice): Markup {
  const { key, label, itemsPerS, latencyMs, p99Ms, engineMib, runs, speedUp, dominatedBy } = choice;
  const isClear = speedUp !== null && speedUp.verdict !== 'unclear';
  const ratio = speedUp === null ? '' : `${speedUp.ratio.toFixed(2)}×${isClear ? '' : '?'}`;
  const interval = speedUp?.interval ?? null;
  return markup`<tr><td>${dominatedBy === null ? '*' : ''}</td><th scope="row">${cellLink(key, label)}</th><td class="number">${formatNumber(itemsPerS)}</td><td class="number">${ratio}</td><td class="number">${!isClear || interval === null ? '' : `${interval[0].toFixed(2)} to ${interval[1].toFixed(2)}×`}</td><td class="number">${formatMs(latencyMs)}</td><td class="number">${formatMs(p99Ms)}</td><td>${accuracyWords(choice)}</td><td class="number">${formatNumber(engineMib)}</td><td>${realWords(choice)}</td><td class="number">${runs}</td></tr>
`;
}

function accuracyWords({ accuracy, accuracyState }: Choice): string {
  if (accuracy !== null) return formatDecibels(accuracy.sqnrDb);
  return accuracyState === 'reference' ? 'reference' : 'not checked';
}

function realWords({ precision, realPrecisionShare }: Choice): string {
  const share = realPrecisionShare?.[precision];
  return share === undefined ? '' : `${precision} ${formatPercent(share * 100, false)}`;
}
