import { ticks } from '../../statistics/histogram.ts';
import { count, formatMs, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import type { PageCell, PageData, SampleHistogram } from '../page-data.ts';
import { axisText, picture, sized, svgLine } from './chart.ts';
import { element, svg } from './dom.ts';
import { linear } from './geometry.ts';
import { sweepName } from './trend.ts';

const HEIGHT = 130;
const SIDE = 8;
const AXIS = 24;

/** Empty if the runs kept no samples. */
export function samplesView(data: PageData, { samples: { before, histogram, sweep } }: PageCell): HTMLElement[] {
  if (histogram === null) return [];
  const [then = '', now = ''] = [before, sweep].map((one) => (one === null ? '' : sweepName(data, one)));
  const title = element('h3', {}, 'Distribution of the queries');
  const words = element('p', { class: 'samples-words' }, wordsOf(histogram, then, now));
  const drawn = sized(element('div'), (width) => chart(histogram, width));
  return [element('section', {}, title, words, drawn)];
}

function wordsOf({ before, now }: SampleHistogram, then: string, newest: string): string {
  const ofNow = `${formatMs(now.medianMs)} in ${count(now.runs, 'run')} of ${newest}`;
  if (before === null) return `Median ${ofNow}.`;
  const change = formatPercent((now.medianMs / before.medianMs - 1) * 100);
  return `Median ${formatMs(before.medianMs)} in ${count(before.runs, 'run')} of ${then} (line), ${ofNow} (filled): ${change}.`;
}

/** All runs together as bars, with a line for the runs before the last change. */
function chart({ before, binMs, fromMs, now }: SampleHistogram, width: number): SVGElement {
  const { shares } = now;
  const earlier = before?.shares ?? [];
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
    ['img', 'GPU compute time of each query, before and now'],
    ...bars,
    ...(before === null ? [] : [svg('path', { class: 'before', d: `M${SIDE} ${HEIGHT}${outline}V${HEIGHT}` })]),
    svgLine('grid', [SIDE, HEIGHT], [width - SIDE, HEIGHT]),
    ...ticks(fromMs, toMs, width / 130).map((ms) =>
      axisText(formatNumber(ms), [x.at(ms), HEIGHT + AXIS - 4], 'middle'),
    ),
  );
}
