import { median } from '../statistics/median.ts';
import type { SparkScale } from '../terminal/charts/sparkline.ts';
import { type Markup, markup } from './markup.ts';

/** The newest sweeps, which a picture shows. */
export const SPARK_SWEEPS = 60;

/** In units of the picture, which is drawn at half of that. */
const WIDTH = 240;
const HEIGHT = 48;
const MARGIN = 4;
const MIDDLE = HEIGHT / 2;

/** The newest values as a thin line on a scale that rows share; gaps stay gaps. What lies beyond it is marked at its edge. */
export function sparkline(values: readonly (number | null)[], { level, percent }: Omit<SparkScale, 'isAscii'>): Markup {
  const newest = values.slice(-SPARK_SWEEPS);
  const known = newest.filter((value) => value !== null);
  const middle = level ?? median(known);
  if (known.length < 2 || middle === null || middle === 0) return markup`<span class="none">–</span>`;
  const step = (WIDTH - 2 * MARGIN) / (newest.length - 1);
  let line = '';
  let beyond = '';
  let side: number | null = null;
  let [fromX, fromY] = [0, 0];
  for (const [place, value] of newest.entries()) {
    const height = value === null ? null : (value / middle - 1) / (percent / 100);
    const x = Math.round(MARGIN + place * step);
    if (height !== null) {
      const y = Math.round(MIDDLE - Math.max(-1, Math.min(1, height)) * (MIDDLE - MARGIN));
      // Relative, as a page has thousands of points.
      const [across, down] = [x - fromX, y - fromY];
      // What lies between two values alone is not known.
      const on = known.length === 2 ? `h${across / 2}v${down}h${across / 2}` : `l${across} ${down}`.replace(' -', '-');
      line += side === null ? `M${x} ${y}h0` : on;
      [fromX, fromY] = [x, y];
    }
    const next = height === null ? null : Math.abs(height) > 1 ? Math.sign(height) : 0;
    if (next !== null && next !== 0 && next !== side) beyond += `M${x - 5} ${MIDDLE - next * 14}h10l-5 ${-10 * next}z`;
    side = next;
  }
  return markup`<svg class="spark" viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true"><path d="${line}"/>${beyond === '' ? null : markup`<path class="beyond" d="${beyond}"/>`}</svg>`;
}
