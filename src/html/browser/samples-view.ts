import type { PageCell, PageData } from '../page-types.ts';
import { formatNumber } from '../../terminal/numbers.ts';
import { sweepName } from './data.ts';
import { axisText, element, note, svg, svgLine, showAsTable, textTable } from './dom.ts';
import { ticks } from '../../statistics/ticks.ts';

const WIDTH = 720;
const STRIP = 46;
const LEFT = 84;
const AXIS = 22;

export function samplesView(data: PageData, cell: PageCell): HTMLElement {
  const { histogram, sweep, unreadable } = cell.samples;
  const title = element('h3', {}, 'Distribution of the queries');
  const lost = unreadable === 0 ? [] : [note(`The samples of ${unreadable} of these runs cannot be read.`)];
  if (histogram === null) {
    const why =
      sweep === null ? 'This cell was never measured.' : `The runs of ${sweepName(data, sweep)} kept no samples.`;
    return element('section', {}, title, note(why), ...lost);
  }
  const { what, fromMs, binMs, runs } = histogram;
  const height = runs.length * STRIP + AXIS;
  const bins = runs[0]?.counts.length ?? 1;
  const x = (ms: number): number => LEFT + ((ms - fromMs) / (binMs * bins)) * (WIDTH - LEFT - 8);
  const most = Math.max(1, ...runs.flatMap(({ counts }) => counts));
  const strips = runs.flatMap(({ runId, counts, statistics }, place) => {
    const floor = (place + 1) * STRIP - 4;
    const bars = counts.flatMap((count, bin) => {
      const high = (count / most) * (STRIP - 10);
      const width = Math.max(1, (WIDTH - LEFT - 8) / bins - 1);
      return count === 0
        ? []
        : svg('rect', { class: 'bar', x: x(fromMs + bin * binMs), y: floor - high, width, height: high });
    });
    const median = x(statistics.median);
    return [
      axisText(`run ${runId}`, [0, floor - 12]),
      svgLine('grid', [LEFT, floor], [WIDTH - 8, floor]),
      ...bars,
      svgLine('cursor', [median, floor - STRIP + 8], [median, floor]),
    ];
  });
  const labels = ticks(fromMs, fromMs + bins * binMs, 5).map((ms) =>
    axisText(formatNumber(ms), [x(ms), height - 4], 'middle'),
  );
  const queries = runs.reduce((sum, run) => sum + run.queries, 0);
  return element(
    'section',
    {},
    title,
    element(
      'p',
      {},
      `${what} of ${queries} queries of ${runs.length} ${runs.length === 1 ? 'run' : 'runs'} of ${sweep === null ? '' : sweepName(data, sweep)}, in ms; the upright line is the median.`,
    ),
    svg(
      'svg',
      {
        class: 'samples',
        viewBox: `0 0 ${WIDTH} ${height}`,
        role: 'img',
        'aria-label': `${what} of each query, as bars; the table below has the same`,
      },
      ...strips,
      ...labels,
    ),
    ...lost,
    showAsTable(() => [
      textTable(
        `${what}, ms, ${data.provenance}`,
        ['run', 'queries', 'least', 'median', 'p90', 'p99', 'most', 'beyond the picture'],
        runs.map(({ runId, queries: number, statistics, beyond }) => [
          runId,
          String(number),
          ...[statistics.min, statistics.median, statistics.p90, statistics.p99, statistics.max].map((value) =>
            formatNumber(value),
          ),
          String(beyond),
        ]),
        1,
      ),
    ]),
  );
}
