import { dayText } from '../../terminal/charts/day-text.ts';
import type { PageCell, PageData } from '../page-types.ts';
import { valuesOf } from './data.ts';
import { svg, svgLine } from './dom.ts';
import type { Scale } from './scale.ts';
import { BOTTOM, LEFT, RIGHT, TOP, type TrendFrame } from './trend-axes.ts';

/** Median of the sweeps between two change points; none if nothing changed. */
export function levelLines(cell: PageCell, { from, to }: TrendFrame, x: Scale, y: Scale): SVGElement[] {
  const values = valuesOf(cell);
  const changes = cell.marks.filter(({ kind }) => kind === 'slower' || kind === 'faster').map(({ step }) => step);
  if (changes.length === 0) return [];
  const ends = [0, ...changes, values.length];
  return ends.slice(1).flatMap((end, place) => {
    const start = ends[place] ?? 0;
    const [a, b] = [Math.max(start, from), Math.min(end - 1, to)];
    const sorted = values
      .slice(start, end)
      .flatMap((sweep) => sweep?.value ?? [])
      .toSorted((one, other) => one - other);
    const middle = sorted[sorted.length >> 1];
    if (middle === undefined || a > b) return [];
    const at = y.at(middle);
    return [svgLine('level', [x.at(a - 0.5), at], [x.at(b + 0.5), at])];
  });
}

type Mark = PageCell['marks'][number];

/** Lines of the sweeps at which something changed. Labels: newest change first, as many as have room. */
export function markLines(
  data: PageData,
  cell: PageCell,
  { width, height, from, to }: TrendFrame,
  x: Scale,
): SVGElement[] {
  const taken: (readonly [row: number, from: number, to: number])[] = [];
  const shown = cell.marks.filter(({ step }) => step >= from && step <= to);
  return shown.toReversed().flatMap((mark) => {
    const { step, kind, breaksLine } = mark;
    const at = x.at(step) - (kind === 'baseline' ? 0 : 0.5 * (x.at(1) - x.at(0)));
    const isChange = kind === 'slower' || kind === 'faster';
    const top = TOP - (isChange ? 20 : 4);
    const line = svgLine(`mark ${kind}${breaksLine ? ' breaks' : ''}`, [at, top], [at, height - BOTTOM]);
    const text = markLabel(data, mark);
    const long = text.length * LETTER;
    const start = at + long > width - RIGHT ? at - long : at;
    if (start < LEFT || taken.some(([row, a, b]) => row === top && start < b && start + long > a)) return [line];
    taken.push([top, start, start + long]);
    const anchor = start < at ? 'end' : 'start';
    return [line, svg('text', { class: `sign ${kind}`, x: at, y: top - 4, 'text-anchor': anchor }, text)];
  });
}

/** Width of a letter of a label, at the most, in pixels. */
const LETTER = 6.6;
const LONGEST = 32;

function markLabel({ sweeps }: PageData, { step, kind, text }: Mark): string {
  if (kind !== 'slower' && kind !== 'faster') {
    return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
  }
  const [size = ''] = text.split(',');
  const known = [sweeps.commits[step]?.slice(0, 8), dayText(sweeps.starts[step] ?? '')];
  return [`${kind} ${size}`, ...known.filter(Boolean)].join(' · ');
}

export function baselineLevels(cell: PageCell, { width, to }: TrendFrame, x: Scale, y: Scale): SVGElement[] {
  return cell.marks.flatMap(({ step, kind }) => {
    const value = valuesOf(cell)[step]?.value;
    if (kind !== 'baseline' || value === undefined || step > to) return [];
    return [svgLine('level baseline', [x.at(step), y.at(value)], [width - RIGHT, y.at(value)])];
  });
}
