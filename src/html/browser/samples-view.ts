import { ticks } from '../../statistics/histogram.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import type { PageCell, PageData, SampleHistogram } from '../page-data.ts';
import { axisText, picture, sized, svgLine } from './chart.ts';
import { element, showAsTable, svg, textTable } from './dom.ts';
import { linear } from './geometry.ts';
import { sweepName } from './trend.ts';

const HEIGHT = 130;
const SIDE = 8;
const AXIS = 24;

/** Empty if the runs kept no samples. */
export function samplesView(data: PageData, { samples: { before, histogram, sweep } }: PageCell): HTMLElement[] {
  if (histogram === null) return [];
  const [then = '', now = ''] = [before, sweep].map((one) => (one === null ? '' : sweepName(data, one)));
  return [
    element(
      'section',
      {},
      element('h3', {}, 'Distribution of the queries'),
      element('p', { class: 'samples-words' }, wordsOf(histogram, then, now)),
      sized(element('div'), (width) => chart(histogram, width)),
      showAsTable(() => [samplesTable(data, histogram)]),
    ),
  ];
}

function wordsOf({ before, medianMs, runs }: SampleHistogram, then: string, now: string): string {
  const ofNow = `${formatMs(medianMs)} in ${count(runs.length, 'run')} of ${now}`;
  if (before === null) return `Median ${ofNow}.`;
  const was = before.statistics.median;
  return `Median ${formatMs(was)} in ${count(before.runs, 'run')} of ${then} (line), ${ofNow} (filled): ${formatPercent((medianMs / was - 1) * 100)}.`;
}

/** All runs together as bars, with a line for the runs before the last change. */
function chart({ before, binMs, fromMs, runs }: SampleHistogram, width: number): SVGElement {
  const queries = runs.reduce((sum, run) => sum + run.queries, 0);
  const shares = (runs[0]?.counts ?? []).map(
    (_, bin) => runs.reduce((sum, run) => sum + (run.counts[bin] ?? 0), 0) / queries,
  );
  const earlier = (before?.counts ?? []).map((number) => number / (before?.queries ?? 1));
  const toMs = fromMs + binMs * shares.length;
  const x = linear([fromMs, toMs], [SIDE, width - SIDE]);
  const y = linear([0, Math.max(...shares, ...earlier)], [HEIGHT, 10]);
  const barWidth = Math.max(1, x.at(fromMs + binMs) - x.at(fromMs) - 1);
  const bars = shares.flatMap((share, bin) => {
    const bar = { x: x.at(fromMs + bin * binMs), y: y.at(share), width: barWidth, height: HEIGHT - y.at(share) };
    return share === 0 ? [] : svg('rect', { class: 'bar', ...bar });
  });
  const outline = earlier.map((share, bin) => `V${y.at(share)}H${x.at(fromMs + (bin + 1) * binMs)}`).join('');
  return picture(
    'samples',
    [width, HEIGHT + AXIS],
    ['img', 'GPU compute time of each query, before and now; the table below has the same'],
    ...bars,
    ...(before === null ? [] : [svg('path', { class: 'before', d: `M${SIDE} ${HEIGHT}${outline}V${HEIGHT}` })]),
    svgLine('grid', [SIDE, HEIGHT], [width - SIDE, HEIGHT]),
    ...ticks(fromMs, toMs, width / 130).map((ms) =>
      axisText(formatNumber(ms), [x.at(ms), HEIGHT + AXIS - 4], 'middle'),
    ),
  );
}

function samplesTable({ provenance }: PageData, { before, runs }: SampleHistogram): HTMLElement {
  const earlier = before === null ? [] : [{ ...before, runId: `before, ${count(before.runs, 'run')}` }];
  return textTable(
    `GPU compute time, ms, ${provenance}`,
    ['run', 'queries', 'min', 'median', 'p90', 'p99', 'max', 'outside the chart'],
    [...earlier, ...runs].map(({ runId, queries, statistics: { min, median, p90, p99, max }, beyond }) => [
      runId,
      String(queries),
      ...[min, median, p90, p99, max].map((value) => formatNumber(value)),
      String(beyond),
    ]),
    1,
  );
}
