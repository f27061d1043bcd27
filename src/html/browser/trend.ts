import { ticks } from '../../statistics/histogram.ts';
import { median } from '../../statistics/order-statistics.ts';
import { count, dayText, directionWord, formatNumber } from '../../terminal/numbers.ts';
import type { PageCell, PageData } from '../page-data.ts';
import { axisText, hideTip, levels, picture, type Plot, showTip, sized, svgLine } from './chart.ts';
import { button, byId, element, svg } from './dom.ts';
import { clamp, linear, rangeOf, type Scale } from './geometry.ts';

export function sweepName({ sweeps }: PageData, sweep: number): string {
  return sweeps[sweep]?.start || `sweep ${sweeps[sweep]?.id.slice(0, 8) ?? ''}`;
}

function sweepLines(data: PageData, cell: PageCell, sweep: number): string[] {
  const { environments, least, most, runs, values } = cell;
  const [value = null, low = null, high = null, number] = [values, least, most, runs].map((column) => column[sweep]);
  const { commit = '', id = '' } = data.sweeps[sweep] ?? {};
  return [
    sweepName(data, sweep),
    value === null
      ? 'no valid measurement'
      : `${formatNumber(value)} ${cell.unit}, median of ${count(number ?? 0, 'run')}, ${formatNumber(low)} to ${formatNumber(high)}`,
    commit === '' ? 'no commit' : `commit ${commit}`,
    ...data.environments.filter((_, place) => place === environments[sweep]),
    ...cell.marks
      .filter(({ step }) => step === sweep)
      .map(({ kind, text }) => `${directionWord(kind, cell.unit)}: ${text}`),
    ...cell.leftOut.filter((run) => run.sweep === sweep).map(({ reason }) => `a run left out: ${reason}`),
    `sweep ${id.slice(0, 8)}, ${data.provenance}`,
  ];
}

/** Least distance between two dates in pixels; `HALF_DATE` is half the width of one. */
const LEAST_GAP = 66;
const HALF_DATE = 24;

/**
 * Labels for some sweeps, including the newest: the day, of sweeps of one day the time; without a time the ID.
 * @param width distance from the first to the last sweep in pixels
 */
function dateLabels({ sweeps }: PageData, from: number, width: number) {
  const to = sweeps.length - 1;
  const isOneDay = sweeps[from]?.start.slice(0, 10) === sweeps[to]?.start.slice(0, 10);
  const isFree = (sweep: number): boolean => ((to - sweep) / (to - from)) * width >= LEAST_GAP;
  const round = ticks(from, to, Math.max(2, Math.floor(width / LEAST_GAP))).filter(Number.isInteger);
  return [...round.filter(isFree), to].map((sweep) => {
    const { id = '', start = '' } = sweeps[sweep] ?? {};
    return { sweep, text: (isOneDay ? start.slice(11) : dayText(start)) || id.slice(0, 8) };
  });
}

type Trend = ReturnType<typeof drawTrend>;

const HEIGHT = 300;
const POINTS_UP_TO = 130;

/** @param from the first displayed sweep; the newest is the last */
function drawTrend(data: PageData, cell: PageCell, from: number, width: number) {
  const plot = { left: 72, right: width - 12, top: 42, bottom: HEIGHT - 28 };
  const x = linear([from - 0.5, data.sweeps.length - 0.5], [plot.left, plot.right]);
  const extremes = [cell.least, cell.most].flatMap((column) => column.slice(from).filter((one) => one !== null));
  const range = rangeOf(extremes, cell.whole);
  const y = linear(range, [plot.bottom, plot.top]);
  const area = { x: plot.left, y: plot.top, width: plot.right - plot.left, height: plot.bottom - plot.top };
  const dates = dateLabels(data, from, area.width).map(({ sweep, text }) =>
    axisText(text, [clamp(x.at(sweep), plot.left, width - HALF_DATE), HEIGHT - 8], 'middle'),
  );
  const drawn = picture(
    'trend',
    [width, HEIGHT],
    null,
    axisText(cell.unit, [plot.left - 6, plot.top - 10], 'end'),
    ...levels(ticks(range[0], range[1], 5), y, plot),
    ...dates,
    // A nested SVG clips content outside of its area.
    svg(
      'svg',
      { class: 'plot', ...area, viewBox: `${area.x} ${area.y} ${area.width} ${area.height}` },
      ...valueLines(cell, from, x, y),
      ...levelLines(cell, from, x, y),
    ),
    ...markLines(data, cell, from, plot, x),
  );
  return { drawn, plot, x, y };
}

/** With fewer sweeps, only points: a line would suggest values between them. */
const LEAST_OF_LINE = 3;

/** Lines through the sweeps without a gap and on one machine. */
function valueLines(cell: PageCell, from: number, x: Scale, y: Scale): SVGElement[] {
  const { least, most, values } = cell;
  const at = (sweep: number, column: PageCell['values']) => [x.at(sweep), y.at(column[sweep] ?? 0)] as const;
  const path = (sweeps: readonly number[], column: PageCell['values']): string =>
    sweeps.map((sweep) => at(sweep, column).map((pixel) => pixel.toFixed(1))).join('L');
  return pieces(cell, from).flatMap((piece) => {
    const circles = (r: number) =>
      piece.map((sweep) => {
        const [cx, cy] = at(sweep, values);
        return svg('circle', { class: 'dot', cx, cy, r });
      });
    if (piece.length < LEAST_OF_LINE) {
      return [...piece.map((sweep) => svgLine('whisker', at(sweep, least), at(sweep, most))), ...circles(5)];
    }
    const band = `M${path(piece, most)}L${path(piece.toReversed(), least)}Z`;
    const line = svg('path', { class: 'line', d: `M${path(piece, values)}` });
    return [svg('path', { class: 'band', d: band }), line, ...(values.length - from <= POINTS_UP_TO ? circles(3) : [])];
  });
}

/** Sweeps with values, unbroken by a gap or another machine. */
function pieces({ marks, values }: PageCell, from: number): number[][] {
  const breaks = new Set(marks.filter((mark) => mark.breaksLine).map(({ step }) => step));
  const found: number[][] = [];
  for (const [sweep, value] of values.entries()) {
    // One sweep before the first, so that the line extends beyond the chart.
    if (value === null || sweep < from - 1) continue;
    const open = found.at(-1);
    if (open?.at(-1) !== sweep - 1 || breaks.has(sweep)) found.push([sweep]);
    else open.push(sweep);
  }
  return found;
}

function isChange({ kind }: PageCell['marks'][number]): boolean {
  return kind === 'slower' || kind === 'faster';
}

/** Medians of the sweeps between change points, if there are any, and the value of each baseline from its sweep on. */
function levelLines(cell: PageCell, from: number, x: Scale, y: Scale): SVGElement[] {
  const end = cell.values.length - 0.5;
  const changes = cell.marks.filter(isChange).map(({ step }) => step);
  const ends = changes.length === 0 ? [] : [...changes, cell.values.length];
  const between = ends.map((next, place) => {
    const start = ends[place - 1] ?? 0;
    const at = median(cell.values.slice(start, next).flatMap((value) => value ?? []));
    return { name: 'level', start: Math.max(start, from) - 0.5, end: next - 0.5, at };
  });
  const baselines = cell.marks
    .filter(({ kind }) => kind === 'baseline')
    .map(({ step }) => ({ name: 'level baseline', start: step, end, at: cell.values[step] ?? null }));
  return [...between, ...baselines].flatMap(({ name, start, end: last, at }) =>
    at === null || start >= last ? [] : [svgLine(name, [x.at(start), y.at(at)], [x.at(last), y.at(at)])],
  );
}

/** Largest width of a letter of a label in pixels. */
const LETTER = 8.6;
const LONGEST = 32;

/** Vertical lines at sweeps with changes. Labels go to the newest changes first while there is room. */
function markLines({ sweeps }: PageData, cell: PageCell, from: number, plot: Plot, x: Scale): SVGElement[] {
  /** By row, where the label to the right begins. */
  const free = new Map<number, number>();
  const shown = cell.marks.filter(({ step }) => step >= from);
  return shown.toReversed().flatMap((mark) => {
    const { step, kind, text: words } = mark;
    const at = x.at(step) - (kind === 'baseline' ? 0 : 0.5 * (x.at(1) - x.at(0)));
    const top = plot.top - (isChange(mark) ? 22 : 4);
    const line = svgLine(`mark ${kind}`, [at, top], [at, plot.bottom]);
    const { commit = '', start: date = '' } = sweeps[step] ?? {};
    const change = `${directionWord(kind, cell.unit)} ${words.split(',', 1).join('')}`;
    const more = [change, commit.slice(0, 8), dayText(date)].filter(Boolean).join(' · ');
    const texts = isChange(mark) ? [more, change] : [words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words];
    const room = free.get(top) ?? plot.right;
    for (const text of texts) {
      const width = text.length * LETTER;
      const start = at + width > room ? at - width : at;
      if (start < plot.left || start + width > room) continue;
      free.set(top, start);
      const anchor = start < at ? 'end' : 'start';
      return [line, svg('text', { class: `sign ${kind}`, x: at, y: top - 5, 'text-anchor': anchor }, text)];
    }
    return [line];
  });
}

/** Number of sweeps of a chart at first; more would hide the newest ones. */
const FIRST_SWEEPS = 90;

/** The chart of one cell: the pointer and arrow keys show a sweep, buttons choose how many sweeps it has. */
export function trendChart(data: PageData, cell: PageCell): HTMLElement {
  const last = Math.max(0, data.sweeps.length - 1);
  let from = Math.max(0, last + 1 - FIRST_SWEEPS);
  let cursor = last;
  let trend: Trend | null = null;
  const label = `${cell.metric} of ${cell.label} by sweep. Arrow keys move.`;
  const role = { role: 'application', 'aria-roledescription': 'chart', 'aria-label': label };
  const stage = element('div', { class: 'stage', tabindex: 0, ...role });
  const rangeText = element('span', { class: 'range' });
  const draw = (width = stage.clientWidth): Element => {
    trend = drawTrend(data, cell, from, width);
    rangeText.textContent = `${sweepName(data, from)} to ${sweepName(data, last)}, ${count(last - from + 1, 'sweep')}`;
    return trend.drawn;
  };
  const showLast = (number: number): void => {
    from = Math.max(0, last + 1 - number);
    stage.replaceChildren(draw());
  };
  const clear = (): void => stage.querySelectorAll('.cursor').forEach((node) => node.remove());
  const point = (sweep: number): string[] => {
    cursor = clamp(sweep, from, last);
    clear();
    const value = cell.values[cursor] ?? null;
    if (trend !== null) {
      const { drawn, plot, x, y } = trend;
      const cx = x.at(cursor);
      drawn.append(svgLine('cursor', [cx, plot.top], [cx, plot.bottom]));
      if (value !== null) drawn.append(svg('circle', { class: 'cursor', cx, cy: y.at(value), r: 4.5 }));
    }
    return sweepLines(data, cell, cursor);
  };
  stage.addEventListener('keydown', (event) => {
    const places = new Map(Object.entries({ ArrowLeft: cursor - 1, ArrowRight: cursor + 1, Home: 0, End: last }));
    const sweep = places.get(event.key);
    if (sweep === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const lines = point(sweep);
    const { right, bottom } = stage.querySelector('line.cursor')?.getBoundingClientRect() ?? new DOMRect();
    showTip(lines, right, bottom);
    // For screen readers.
    byId('said')?.replaceChildren(lines.join(', '));
  });
  stage.addEventListener('pointermove', ({ clientX, clientY, offsetX }) =>
    showTip(point(Math.round(trend?.x.back(offsetX) ?? 0)), clientX, clientY),
  );
  for (const end of ['pointerleave', 'blur']) {
    stage.addEventListener(end, () => {
      hideTip();
      clear();
    });
  }
  sized(stage, draw);
  const controls = [
    ...[30, 90].map((number) => button(`${number} sweeps`, `the last ${number} sweeps`, () => showLast(number))),
    button('all', 'all sweeps', () => showLast(Infinity)),
    rangeText,
  ];
  const key =
    'level line: median between changes · upright or level dashes: environment, baseline · band: from the least to the most of the runs';
  const keyLine = element('p', { class: 'key' }, key);
  return element('div', {}, element('div', { class: 'controls' }, ...controls), stage, keyLine);
}
