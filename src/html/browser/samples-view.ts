import { ticks } from '../../statistics/ticks.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import type { SampleHistogram } from '../histogram.ts';
import type { PageCell, PageData } from '../page-types.ts';
import { sweepName } from './data.ts';
import { axisText, element, note, showAsTable, svg, svgLine, textTable } from './dom.ts';
import { linear, type Scale } from './scale.ts';

/** Narrower where the page is: its letters keep their size. */
const WIDTH = Math.min(720, Math.max(300, document.documentElement.clientWidth - 32));
const STRIP = 46;
const BOTH = 130;
const LEFT = 84;
const AXIS = 22;

export function samplesView(data: PageData, cell: PageCell): HTMLElement {
  const { before, histogram, sweep, unreadable } = cell.samples;
  const title = element('h3', {}, 'Distribution of the queries');
  const lost = unreadable === 0 ? [] : [note(`The samples of ${unreadable} of these runs cannot be read.`)];
  const now = sweep === null ? '' : sweepName(data, sweep);
  if (histogram === null) {
    const why = sweep === null ? 'This cell was never measured.' : `The runs of ${now} kept no samples.`;
    return element('section', {}, title, note(why), ...lost);
  }
  const { what, runs } = histogram;
  const queries = runs.reduce((sum, run) => sum + run.queries, 0);
  const words = `${what} of ${queries} queries of ${count(runs.length, 'run')} of ${now}, in ms; the upright line is the median.`;
  return element(
    'section',
    {},
    title,
    ...(before === null ? [] : bothSides(histogram, sweepName(data, before), now)),
    element('p', {}, words),
    runStrips(histogram),
    ...lost,
    showAsTable(() => [samplesTable(data, histogram)]),
  );
}

/** Pixels of a picture as wide as all bins. */
function binScale({ binMs, fromMs, runs }: SampleHistogram): Scale {
  return linear([fromMs, fromMs + binMs * (runs[0]?.counts.length ?? 1)], [LEFT, WIDTH - 8]);
}

/** The runs before the last change, as a line, over those of now; nothing where those kept no samples. */
function bothSides(histogram: SampleHistogram, then: string, now: string): HTMLElement[] {
  const { before, fromMs, binMs, medianMs, runs, what } = histogram;
  if (before === null) return [];
  const x = binScale(histogram);
  const queries = runs.reduce((sum, run) => sum + run.queries, 0);
  const shares = (runs[0]?.counts ?? []).map(
    (_, bin) => runs.reduce((sum, run) => sum + (run.counts[bin] ?? 0), 0) / queries,
  );
  const earlier = before.counts.map((number) => number / before.queries);
  const y = linear([0, Math.max(...shares, ...earlier)], [BOTH, 10]);
  const outline = earlier.map((share, bin) => `V${y.at(share)}H${x.at(fromMs + (bin + 1) * binMs)}`).join('');
  const was = before.statistics.median;
  const words = `Median ${formatMs(was)} in ${count(before.runs, 'run')} of ${then} (line), ${formatMs(medianMs)} in ${count(runs.length, 'run')} of ${now} (filled): ${formatPercent((medianMs / was - 1) * 100)}.`;
  return [
    element('p', { class: 'samples-words' }, words),
    picture(
      BOTH + AXIS,
      `${what} of each query, before and now; the table below has the same`,
      ...bars(shares, histogram, x, y),
      svg('path', { class: 'before', d: `M${LEFT} ${BOTH}${outline}V${BOTH}` }),
      svgLine('grid', [LEFT, BOTH], [WIDTH - 8, BOTH]),
      ...axis(histogram, x, BOTH + AXIS),
    ),
  ];
}

function runStrips(histogram: SampleHistogram): HTMLElement {
  const { runs, what } = histogram;
  const x = binScale(histogram);
  const most = Math.max(1, ...runs.flatMap(({ counts }) => counts));
  const strips = runs.flatMap(({ runId, counts, statistics }, place) => {
    const floor = (place + 1) * STRIP - 4;
    const median = x.at(statistics.median);
    return [
      axisText(`run ${runId}`, [0, floor - 12]),
      svgLine('grid', [LEFT, floor], [WIDTH - 8, floor]),
      ...bars(counts, histogram, x, linear([0, most], [floor, floor - STRIP + 10])),
      svgLine('cursor', [median, floor - STRIP + 8], [median, floor]),
    ];
  });
  const height = runs.length * STRIP + AXIS;
  const label = `${what} of each query, as bars; the table below has the same`;
  return picture(height, label, ...strips, ...axis(histogram, x, height));
}

function picture(height: number, label: string, ...parts: readonly SVGElement[]): HTMLElement {
  const size = { class: 'samples', viewBox: `0 0 ${WIDTH} ${height}` };
  return element('div', {}, svg('svg', { ...size, role: 'img', 'aria-label': label }, ...parts));
}

function bars(values: readonly number[], { binMs, fromMs }: SampleHistogram, x: Scale, y: Scale): SVGElement[] {
  const width = Math.max(1, x.at(fromMs + binMs) - x.at(fromMs) - 1);
  return values.flatMap((value, bin) =>
    value === 0
      ? []
      : svg('rect', {
          class: 'bar',
          x: x.at(fromMs + bin * binMs),
          y: y.at(value),
          width,
          height: y.at(0) - y.at(value),
        }),
  );
}

function axis({ binMs, fromMs, runs }: SampleHistogram, x: Scale, height: number): SVGElement[] {
  const most = fromMs + binMs * (runs[0]?.counts.length ?? 1);
  return ticks(fromMs, most, Math.floor(WIDTH / 130)).map((ms) =>
    axisText(formatNumber(ms), [x.at(ms), height - 4], 'middle'),
  );
}

function samplesTable({ provenance }: PageData, { before, runs, what }: SampleHistogram): HTMLElement {
  const earlier = before === null ? [] : [{ ...before, runId: `before, ${count(before.runs, 'run')}` }];
  return textTable(
    `${what}, ms, ${provenance}`,
    ['run', 'queries', 'least', 'median', 'p90', 'p99', 'most', 'beyond the picture'],
    [...earlier, ...runs].map(({ runId, queries, statistics: { min, median, p90, p99, max }, beyond }) => [
      runId,
      String(queries),
      ...[min, median, p90, p99, max].map((value) => formatNumber(value)),
      String(beyond),
    ]),
    1,
  );
}
