import { ticks } from '../../statistics/ticks.ts';
import { dayText } from '../../terminal/charts/day-text.ts';
import { formatNumber } from '../../terminal/numbers.ts';
import type { PageData } from '../page-types.ts';
import { axisText, svgLine } from './dom.ts';
import type { Scale } from './scale.ts';

export interface TrendFrame {
  readonly width: number;
  readonly height: number;
  /** Range of displayed sweeps, both ends included. */
  readonly from: number;
  readonly to: number;
}

/** Pixels round the plot. */
export const LEFT = 68;
export const RIGHT = 12;
export const TOP = 36;
export const BOTTOM = 26;

export function grid(
  data: PageData,
  unit: string,
  { width, height, from, to }: TrendFrame,
  x: Scale,
  y: Scale,
  [least, most]: readonly [number, number],
): SVGElement[] {
  const lines = ticks(least, most, 5).flatMap((value) => [
    svgLine('grid', [LEFT, y.at(value)], [width - RIGHT, y.at(value)]),
    axisText(formatNumber(value), [LEFT - 6, y.at(value) + 4], 'end'),
  ]);
  const dates = dateLabels(data, from, to, width - LEFT - RIGHT).map(({ sweep, text }) =>
    axisText(text, [clampText(x.at(sweep), width), height - 8], 'middle'),
  );
  return [axisText(unit, [LEFT - 6, TOP - 8], 'end'), ...lines, ...dates];
}

/** From one date to the next, in pixels. */
const LEAST_GAP = 58;

/** Of some sweeps, the newest included: day, or time where all are of one day. @param width from first to last, in pixels */
export function dateLabels({ sweeps }: PageData, from: number, to: number, width: number) {
  const days = new Set(sweeps.starts.slice(from, to + 1).map((start) => start.slice(0, 10)));
  const isFree = (sweep: number): boolean => ((to - sweep) / (to - from)) * width >= LEAST_GAP;
  const round = ticks(from, to, Math.max(2, Math.floor(width / LEAST_GAP))).filter(Number.isInteger);
  return [...round.filter(isFree), to].map((sweep) => {
    const start = sweeps.starts[sweep] ?? '';
    const text = days.size === 1 ? start.slice(11) : dayText(start);
    return { sweep, text: text || (sweeps.ids[sweep]?.slice(0, 8) ?? '') };
  });
}

/** Of a date such as 28 Feb, in pixels. */
const HALF_DATE = 20;

function clampText(at: number, width: number): number {
  return Math.min(width - HALF_DATE, Math.max(LEFT, at));
}
