import { ticks } from '../../statistics/ticks.ts';
import { dayText } from '../../terminal/charts/day-text.ts';
import { count, formatNumber } from '../../terminal/numbers.ts';
import type { DrawnCell, PageCell, PageData, SweepMark, SweepValue } from '../page-data.ts';
import { axisText, levels, onKeys, picture, pictureStage, type Plot, showTip, sized, svgLine, tell } from './chart.ts';
import { button, element, picker, showAsTable, svg, textTable } from './dom.ts';
import { clamp, linear, rangeOf, type Scale, SweepRange } from './geometry.ts';

export function sweepName({ sweeps }: PageData, sweep: number): string {
  return sweeps[sweep]?.start || `sweep ${sweeps[sweep]?.id.slice(0, 8) ?? ''}`;
}

/** In percent of the level at which a square of the map has no color. */
function inPercent(cell: PageCell): PageCell {
  const factor = 100 / (cell.level ?? 100);
  const values = cell.values.map(
    (one) => one && { ...one, value: one.value * factor, least: one.least * factor, most: one.most * factor },
  );
  return { ...cell, unit: '% of level', values };
}

function valueText({ unit, values }: PageCell, sweep: number): string {
  const found = values[sweep] ?? null;
  return found === null ? 'nothing measured that counts' : `${formatNumber(found.value)} ${unit}`;
}

export function sweepLines(data: PageData, cell: PageCell, sweep: number): string[] {
  const found = cell.values[sweep] ?? null;
  const { commit = '', id = '' } = data.sweeps[sweep] ?? {};
  return [
    sweepName(data, sweep),
    found === null ? valueText(cell, sweep) : `${valueText(cell, sweep)}, median of ${count(found.runs, 'run')}`,
    ...(found !== null && found.runs > 1
      ? [`runs from ${formatNumber(found.least)} to ${formatNumber(found.most)} ${cell.unit}`]
      : []),
    commit === '' ? 'no commit' : `commit ${commit}`,
    ...data.environments.filter((_, place) => place === found?.environment),
    ...cell.marks.filter(({ step }) => step === sweep).map(({ kind, text }) => `${kind}: ${text}`),
    ...cell.leftOut
      .filter((entry) => entry.sweep === sweep)
      .map(({ runs, reason }) => `left out, ${count(runs, 'run')}: ${reason}`),
    `sweep ${id.slice(0, 8)}, ${data.provenance}`,
  ];
}

/** What is as in the sweep before is not said again. */
function sweepTable(data: PageData, cell: PageCell): HTMLElement {
  let before: readonly string[] = [];
  const rows = cell.values.map((found, sweep) => {
    const [, , ...lines] = sweepLines(data, cell, sweep);
    const known = lines.filter((line) => !line.startsWith('runs from') && !before.includes(line)).join('; ');
    before = lines;
    const numbers =
      found === null ? ['–', '', ''] : [found.value, found.least, found.most].map((one) => formatNumber(one));
    return [sweepName(data, sweep), known, String(found?.runs ?? 0), ...numbers];
  });
  const caption = `${cell.label}: ${cell.metric}, ${cell.unit}, ${data.provenance}`;
  return textTable(caption, ['sweep', 'what is new', 'runs', 'median', 'least', 'most'], rows, 2);
}

/** The displayed sweeps, both ends included. */
interface Shown {
  readonly from: number;
  readonly to: number;
}

/** From one date to the next, in pixels; half of one. */
const LEAST_GAP = 66;
const HALF_DATE = 24;

/** Of some sweeps, the newest included: day, time or id, whichever tells the ends apart. @param width from first to last, in pixels */
export function dateLabels({ sweeps }: PageData, { from, to }: Shown, width: number) {
  const textOf = (sweep: number): string[] => {
    const { id = '', start = '' } = sweeps[sweep] ?? {};
    return [dayText(start), start.slice(11), id.slice(0, 8)];
  };
  const differs = textOf(from).findIndex((text, place) => text !== textOf(to)[place]);
  const isFree = (sweep: number): boolean => ((to - sweep) / (to - from)) * width >= LEAST_GAP;
  const round = ticks(from, to, Math.max(2, Math.floor(width / LEAST_GAP))).filter(Number.isInteger);
  return [...round.filter(isFree), to].map((sweep) => {
    const texts = textOf(sweep);
    return { sweep, text: texts[Math.max(0, differs)] || (texts[2] ?? '') };
  });
}

interface Trend {
  readonly drawn: SVGSVGElement;
  readonly plot: Plot;
  readonly x: Scale;
  readonly y: Scale;
}

const HEIGHT = 300;
const POINTS_UP_TO = 130;

/** @param cells in the same unit; those after the first are drawn as dashed lines */
function drawTrend(data: PageData, cells: readonly [PageCell, ...PageCell[]], shown: Shown, width: number): Trend {
  const [cell, ...others] = cells;
  const { from, to } = shown;
  const plot = { left: 72, right: width - 12, top: 42, bottom: HEIGHT - 28 };
  const x = linear([from - 0.5, to + 0.5], [plot.left, plot.right]);
  const within = ({ values }: DrawnCell) => values.slice(from, to + 1).filter((one) => one !== null);
  const extremes = within(cell).flatMap(({ least, most }) => [least, most]);
  const range = rangeOf([...extremes, ...others.flatMap(within).map(({ value }) => value)], cell.most);
  const y = linear(range, [plot.bottom, plot.top]);
  const area = { x: plot.left, y: plot.top, width: plot.right - plot.left, height: plot.bottom - plot.top };
  const dates = dateLabels(data, shown, area.width).map(({ sweep, text }) =>
    axisText(text, [clamp(x.at(sweep), plot.left, width - HALF_DATE), HEIGHT - 8], 'middle'),
  );
  const drawn = picture(
    'trend',
    [width, HEIGHT],
    null,
    axisText(cell.unit, [plot.left - 6, plot.top - 10], 'end'),
    ...levels(ticks(range[0], range[1], 5), y, plot),
    ...dates,
    // A picture inside the picture cuts off what lies outside it.
    svg(
      'svg',
      { class: 'plot', ...area, viewBox: `${area.x} ${area.y} ${area.width} ${area.height}` },
      ...cells.flatMap((one, place) => valueLines(one, place - 1, shown, x, y)),
      ...levelLines(cell, shown, x, y),
    ),
    ...markLines(data, cell, shown, plot, x),
  );
  return { drawn, plot, x, y };
}

/** Fewer sweeps are points: a line between two would say what lies between them. */
const LEAST_OF_LINE = 3;

/** Line of each run of sweeps without a gap, on one machine. @param other place among the compared cells; below 0 the cell itself */
function valueLines(cell: PageCell, other: number, shown: Shown, x: Scale, y: Scale): SVGElement[] {
  const point = (sweep: number, value: number): string => `${x.at(sweep).toFixed(1)} ${y.at(value).toFixed(1)}`;
  const name = other < 0 ? '' : ` other-${other}`;
  return pieces(cell, shown).flatMap((piece) => {
    const above = piece.map(({ sweep, most }) => point(sweep, most));
    const below = piece.map(({ sweep, least }) => point(sweep, least)).toReversed();
    const line = piece.map(({ sweep, value }) => point(sweep, value)).join('L');
    const circles = (r: number) =>
      piece.map(({ sweep, value }) => svg('circle', { class: `dot${name}`, cx: x.at(sweep), cy: y.at(value), r }));
    if (piece.length < LEAST_OF_LINE) {
      const whiskers = piece.map(({ sweep, least, most }) =>
        svgLine(`whisker${name}`, [x.at(sweep), y.at(least)], [x.at(sweep), y.at(most)]),
      );
      return [...whiskers, ...circles(5)];
    }
    const path = svg('path', { class: `line${name}`, d: `M${line}` });
    if (other >= 0) return [path];
    const band = svg('path', { class: 'band', d: `M${[...above, ...below].join('L')}Z` });
    return [band, path, ...(shown.to - shown.from < POINTS_UP_TO ? circles(3) : [])];
  });
}

type Piece = (SweepValue & { readonly sweep: number })[];

function pieces(cell: PageCell, { from, to }: Shown): Piece[] {
  const breaks = new Set(cell.marks.filter((mark) => mark.breaksLine).map(({ step }) => step));
  const found: Piece[] = [];
  let isOpen = false;
  // One more at each end, so that the line extends beyond the chart.
  for (let sweep = Math.max(0, from - 1); sweep <= Math.min(cell.values.length - 1, to + 1); sweep += 1) {
    const entry = cell.values[sweep] ?? null;
    if (entry === null || breaks.has(sweep)) isOpen = false;
    if (entry === null) continue;
    if (!isOpen) found.push([]);
    found.at(-1)?.push({ sweep, ...entry });
    isOpen = true;
  }
  return found;
}

function isChange({ kind }: SweepMark): boolean {
  return kind === 'slower' || kind === 'faster';
}

/** Median of the sweeps between two change points, none if nothing changed; and the value of each baseline, from it on. */
function levelLines(cell: PageCell, { from, to }: Shown, x: Scale, y: Scale): SVGElement[] {
  const changes = cell.marks.filter(isChange).map(({ step }) => step);
  const ends = changes.length === 0 ? [] : [...changes, cell.values.length];
  const between = ends.map((end, place) => {
    const start = ends[place - 1] ?? 0;
    const known = cell.values.slice(start, end).flatMap((one) => one?.value ?? []);
    const middle = known.toSorted((a, b) => a - b)[known.length >> 1];
    return { name: 'level', start: Math.max(start, from) - 0.5, end: Math.min(end - 1, to) + 0.5, at: middle };
  });
  const baselines = cell.marks
    .filter(({ kind }) => kind === 'baseline')
    .map(({ step }) => ({ name: 'level baseline', start: step, end: to + 0.5, at: cell.values[step]?.value }));
  return [...between, ...baselines].flatMap(({ name, start, end, at }) =>
    at === undefined || start >= end ? [] : [svgLine(name, [x.at(start), y.at(at)], [x.at(end), y.at(at)])],
  );
}

/** Width of a letter of a label, at the most, in pixels. */
const LETTER = 7.7;
const LONGEST = 32;

/** Lines of the sweeps at which something changed. Labels: newest change first, as many as have room. */
function markLines({ sweeps }: PageData, cell: PageCell, { from, to }: Shown, plot: Plot, x: Scale): SVGElement[] {
  const taken: (readonly [row: number, from: number, to: number])[] = [];
  const shown = cell.marks.filter(({ step }) => step >= from && step <= to);
  return shown.toReversed().flatMap((mark) => {
    const { step, kind, breaksLine, text: words } = mark;
    const at = x.at(step) - (kind === 'baseline' ? 0 : 0.5 * (x.at(1) - x.at(0)));
    const top = plot.top - (isChange(mark) ? 22 : 4);
    const line = svgLine(`mark ${kind}${breaksLine ? ' breaks' : ''}`, [at, top], [at, plot.bottom]);
    const { commit = '', start: date = '' } = sweeps[step] ?? {};
    const change = `${kind} ${words.split(',', 1).join('')}`;
    const more = [change, commit.slice(0, 8), dayText(date)].filter(Boolean).join(' · ');
    const texts = isChange(mark) ? [more, change] : [words.length > LONGEST ? `${words.slice(0, LONGEST)}…` : words];
    const placed = texts
      .map((text) => ({ text, start: at + text.length * LETTER > plot.right ? at - text.length * LETTER : at }))
      .find(
        ({ text, start }) =>
          start >= plot.left &&
          !taken.some(([row, a, b]) => row === top && start < b && start + text.length * LETTER > a),
      );
    if (placed === undefined) return [line];
    const { text, start } = placed;
    taken.push([top, start, start + text.length * LETTER]);
    const anchor = start < at ? 'end' : 'start';
    return [line, svg('text', { class: `sign ${kind}`, x: at, y: top - 5, 'text-anchor': anchor }, text)];
  });
}

/** More sweeps than this would hide the newest ones; the cell's own chart has all. */
const FIRST_SWEEPS = 90;

/** The chart of the first screen: no controls, and a link to the cell's own chart. */
export function drawFirstChart(data: PageData): void {
  const figure = document.querySelector<HTMLElement>('.first-chart');
  const cell = data.cells.find(({ key }) => key === figure?.dataset['cell']);
  if (figure === null || cell === undefined) return;
  const to = Math.max(0, data.sweeps.length - 1);
  const shown = { from: Math.max(0, to - FIRST_SWEEPS + 1), to };
  const role = { role: 'img', 'aria-label': `${cell.metric} of ${cell.label} by sweep` };
  figure.append(sized(element('div', role), (width) => drawTrend(data, [cell], shown, width).drawn));
}

const MOST_OTHERS = 3;
const LEAST_DRAG = 6;

/**
 * The sweeps of one cell: zoom by dragging, buttons, keys, or the wheel while focused. With other cells, all are in
 * percent of their level.
 */
export function trendChart(
  data: PageData,
  cell: PageCell,
  start: { readonly from: number | null; readonly to: number | null },
  zoomed: (from: number, to: number) => void,
): HTMLElement {
  const range = new SweepRange(data.sweeps.length, start.from, start.to);
  const { last } = range;
  let cursor = range.to;
  /** The cell first: with others, all are in percent of their level. */
  let shown: readonly [PageCell, ...PageCell[]] = [cell];
  let trend: Trend | null = null;
  const label = `${cell.metric} of ${cell.label} by sweep. Arrow keys move, plus and minus zoom, 0 shows all sweeps.`;
  const [rangeText, legend, tables] = [
    element('span', { class: 'range' }),
    element('p', { class: 'key' }),
    element('div'),
  ];
  const stage = pictureStage('chart', label);
  const draw = (width = stage.clientWidth): Element => {
    trend = drawTrend(data, shown, range, width);
    stage.replaceChildren(trend.drawn);
    rangeText.textContent = `${sweepName(data, range.from)} to ${sweepName(data, range.to)}, ${count(range.to - range.from + 1, 'sweep')}`;
    return trend.drawn;
  };
  const changed = (): void => {
    draw();
    zoomed(range.from, range.to);
  };
  const show = (from: number, to: number): void => {
    range.show(from, to);
    changed();
  };
  const zoom = (factor: number, around = cursor): void => {
    range.zoom(factor, around);
    changed();
  };
  const showLast = (number: number): void => show(last + 1 - Math.min(number, last + 1), last);
  const compare = (others: readonly PageCell[]): void => {
    shown = others.length === 0 ? [cell] : [inPercent(cell), ...others.map(inPercent)];
    legend.replaceChildren(...(others.length === 0 ? [] : shown.flatMap(lineKey)));
    tables.replaceChildren(showAsTable(() => shown.map((one) => sweepTable(data, one))));
    if (trend !== null) draw();
  };
  const clear = (): void => {
    for (const node of stage.querySelectorAll('.cursor, .selection')) node.remove();
  };
  const sweepAt = (pixel: number): number => clamp(Math.round(trend?.x.back(pixel) ?? 0), range.from, range.to);
  const point = (sweep: number): string[] => {
    cursor = sweep;
    clear();
    const [own, ...more] = shown;
    const value = own.values[sweep]?.value;
    if (trend !== null) {
      const { drawn, plot, x, y } = trend;
      const cx = x.at(sweep);
      drawn.append(svgLine('cursor', [cx, plot.top], [cx, plot.bottom]));
      if (value !== undefined) drawn.append(svg('circle', { class: 'cursor', cx, cy: y.at(value), r: 4.5 }));
    }
    return [...sweepLines(data, own, sweep), ...more.map((one) => `${one.label}: ${valueText(one, sweep)}`)];
  };
  const moveTo = (sweep: number): void => {
    const target = clamp(sweep, 0, last);
    if (!range.has(target)) {
      range.reach(target);
      changed();
    }
    const lines = point(target);
    tell(lines, stage.querySelector('line.cursor')?.getBoundingClientRect() ?? stage.getBoundingClientRect());
  };
  onKeys(stage, (far) => ({
    ArrowLeft: () => moveTo(cursor - far),
    ArrowRight: () => moveTo(cursor + far),
    Home: () => moveTo(0),
    End: () => moveTo(last),
    '+': () => zoom(0.5),
    '=': () => zoom(0.5),
    '-': () => zoom(2),
    '0': () => showLast(Infinity),
  }));
  let dragged: number | null = null;
  stage.addEventListener('pointerdown', ({ offsetX }) => {
    dragged = offsetX;
  });
  stage.addEventListener('pointermove', ({ clientX, clientY, offsetX }) => {
    showTip(point(sweepAt(offsetX)), clientX, clientY, stage.getBoundingClientRect().bottom);
    if (dragged === null || trend === null) return;
    const { drawn, plot } = trend;
    const area = { x: Math.min(dragged, offsetX), width: Math.abs(offsetX - dragged) };
    drawn.append(svg('rect', { class: 'selection', ...area, y: plot.top, height: plot.bottom - plot.top }));
  });
  stage.addEventListener('pointerup', ({ offsetX }) => {
    const from = dragged;
    dragged = null;
    if (from === null || trend === null || Math.abs(offsetX - from) < LEAST_DRAG) return;
    show(trend.x.back(Math.min(from, offsetX)), trend.x.back(Math.max(from, offsetX)));
  });
  stage.addEventListener('pointerleave', () => {
    dragged = null;
    clear();
  });
  stage.addEventListener('dblclick', () => showLast(Infinity));
  const wheel = (event: WheelEvent): void => {
    if (document.activeElement !== stage && !event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.25 : 0.8, sweepAt(event.offsetX));
  };
  stage.addEventListener('wheel', wheel, { passive: false });
  compare([]);
  sized(stage, draw);
  const controls = [
    button('+', 'zoom in', () => zoom(0.5)),
    button('−', 'zoom out', () => zoom(2)),
    ...[30, 90].map((number) => button(`${number} sweeps`, `the last ${number} sweeps`, () => showLast(number))),
    button('all', 'all sweeps', () => showLast(Infinity)),
    ...comparePicker(data, cell, compare),
    rangeText,
  ];
  const key =
    'level line: median between changes · upright or level dashes: environment, baseline · band: from the least to the most of the runs';
  return element(
    'div',
    {},
    element('div', { class: 'controls' }, ...controls),
    stage,
    element('p', { class: 'key' }, key),
    legend,
    tables,
  );
}

/** Each choice is one more cell next to `cell`; the first choice takes all out. Nothing where there is no other. */
function comparePicker(data: PageData, cell: PageCell, compare: (others: readonly PageCell[]) => void): HTMLElement[] {
  const cells = data.cells.filter((one) => one !== cell);
  if (cells.length === 0) return [];
  const names = ['none', ...cells.map(({ label }) => label.slice(0, 100))];
  let others: readonly PageCell[] = [];
  const choose = (place: number): void => {
    const chosen = cells[place - 1];
    const kept = others.filter((one) => one !== chosen);
    others = chosen === undefined ? [] : [...kept, chosen].slice(-MOST_OTHERS);
    compare(others);
  };
  return [picker('Compare with', names, choose)];
}

/** Which line is which cell. */
function lineKey({ label }: PageCell, place: number): Node[] {
  const line = svgLine(place === 0 ? 'line' : `line other-${place - 1}`, [0, 4], [36, 4]);
  return [
    svg('svg', { class: 'sample', width: 36, height: 8, 'aria-hidden': 'true' }, line),
    element('span', {}, ` ${label} `),
  ];
}
