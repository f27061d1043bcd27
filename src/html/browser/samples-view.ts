import { ticks } from '../../statistics/ticks.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import type { SampleHistogram } from '../histogram.ts';
import type { PageCell, PageData } from '../page-data.ts';
import { axisText, picture, sized, svgLine } from './chart.ts';
import { element, note, showAsTable, svg, textTable } from './dom.ts';
import { linear, type Scale } from './geometry.ts';
import { sweepName } from './trend.ts';

const STRIP = 46;
const BOTH = 130;
const LEFT = 108;
const AXIS = 24;

/** Nothing where the runs kept no samples. */
export function samplesView(data: PageData, { samples }: PageCell): HTMLElement[] {
  const { before, histogram, sweep, unreadable } = samples;
  const title = element('h3', {}, 'Distribution of the queries');
  const lost = unreadable === 0 ? [] : [note(`The samples of ${unreadable} of these runs cannot be read.`)];
  if (histogram === null) return unreadable === 0 ? [] : [element('section', {}, title, ...lost)];
  const { runs, what } = histogram;
  const now = sweep === null ? '' : sweepName(data, sweep);
  const words = `${what} of ${queriesOf(histogram)} queries of ${count(runs.length, 'run')} of ${now}, in ms; the upright line is the median.`;
  const parts = [
    ...(before === null ? [] : bothSides(histogram, sweepName(data, before), now)),
    element('p', {}, words),
    sized(element('div'), (width) => runStrips(histogram, width)),
    ...lost,
    showAsTable(() => [samplesTable(data, histogram)]),
  ];
  return [element('section', {}, title, ...parts)];
}

function queriesOf({ runs }: SampleHistogram): number {
  return runs.reduce((sum, run) => sum + run.queries, 0);
}

/** Pixels of a picture as wide as all bins. */
function binScale({ binMs, fromMs, runs }: SampleHistogram, width: number): Scale {
  return linear([fromMs, fromMs + binMs * (runs[0]?.counts.length ?? 1)], [LEFT, width - 8]);
}

/** The runs before the last change, as a line, over those of now; nothing where those kept no samples. */
function bothSides(histogram: SampleHistogram, then: string, now: string): HTMLElement[] {
  const { before, fromMs, binMs, medianMs, runs, what } = histogram;
  if (before === null) return [];
  const queries = queriesOf(histogram);
  const shares = (runs[0]?.counts ?? []).map(
    (_, bin) => runs.reduce((sum, run) => sum + (run.counts[bin] ?? 0), 0) / queries,
  );
  const earlier = before.counts.map((number) => number / before.queries);
  const y = linear([0, Math.max(...shares, ...earlier)], [BOTH, 10]);
  const draw = (width: number): SVGElement => {
    const x = binScale(histogram, width);
    const outline = earlier.map((share, bin) => `V${y.at(share)}H${x.at(fromMs + (bin + 1) * binMs)}`).join('');
    return picture(
      'samples',
      [width, BOTH + AXIS],
      ['img', `${what} of each query, before and now; the table below has the same`],
      ...bars(shares, histogram, x, y),
      svg('path', { class: 'before', d: `M${LEFT} ${BOTH}${outline}V${BOTH}` }),
      ...axis(histogram, x, [width, BOTH], BOTH + AXIS),
    );
  };
  const was = before.statistics.median;
  const words = `Median ${formatMs(was)} in ${count(before.runs, 'run')} of ${then} (line), ${formatMs(medianMs)} in ${count(runs.length, 'run')} of ${now} (filled): ${formatPercent((medianMs / was - 1) * 100)}.`;
  return [element('p', { class: 'samples-words' }, words), sized(element('div'), draw)];
}

function runStrips(histogram: SampleHistogram, width: number): SVGElement {
  const { runs, what } = histogram;
  const x = binScale(histogram, width);
  const most = Math.max(1, ...runs.flatMap(({ counts }) => counts));
  const height = runs.length * STRIP + AXIS;
  const strips = runs.flatMap(({ runId, counts, statistics }, place) => {
    const floor = (place + 1) * STRIP - 4;
    const median = x.at(statistics.median);
    return [
      axisText(`run ${runId}`, [0, floor - 12]),
      ...axis(histogram, x, [width, floor], place === runs.length - 1 ? height : null),
      ...bars(counts, histogram, x, linear([0, most], [floor, floor - STRIP + 10])),
      svgLine('cursor', [median, floor - STRIP + 8], [median, floor]),
    ];
  });
  return picture(
    'samples',
    [width, height],
    ['img', `${what} of each query, as bars; the table below has the same`],
    ...strips,
  );
}

function bars(values: readonly number[], { binMs, fromMs }: SampleHistogram, x: Scale, y: Scale): SVGElement[] {
  const width = Math.max(1, x.at(fromMs + binMs) - x.at(fromMs) - 1);
  return values.flatMap((value, bin) => {
    const top = y.at(value);
    const bar = { x: x.at(fromMs + bin * binMs), y: top, width, height: y.at(0) - top };
    return value === 0 ? [] : svg('rect', { class: 'bar', ...bar });
  });
}

/** Line below the bars, and the numbers below that; null for none. */
function axis(
  { binMs, fromMs, runs }: SampleHistogram,
  x: Scale,
  [width, floor]: readonly [number, number],
  bottom: number | null,
): SVGElement[] {
  const numbers = bottom === null ? [] : ticks(fromMs, fromMs + binMs * (runs[0]?.counts.length ?? 1), width / 130);
  return [
    svgLine('grid', [LEFT, floor], [width - 8, floor]),
    ...numbers.map((ms) => axisText(formatNumber(ms), [x.at(ms), (bottom ?? 0) - 4], 'middle')),
  ];
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
