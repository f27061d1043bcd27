import { type Markup, markup } from './markup.ts';

const WIDTH = 120;
const HEIGHT = 24;
const MARGIN = 2;
const POINTS = 60;

/** The values of some nights as a thin line; what it says is in the columns next to it. Gaps stay gaps. */
export function sparkline(values: readonly (number | null)[]): Markup {
  const thinned = thin(values, POINTS);
  const known = thinned.filter((value) => value !== null);
  if (known.length < 2) return markup`<span class="none">–</span>`;
  const least = Math.min(...known);
  const span = Math.max(...known) - least || 1;
  const x = (place: number): number => MARGIN + (place / Math.max(1, thinned.length - 1)) * (WIDTH - 2 * MARGIN);
  const y = (value: number): number => HEIGHT - MARGIN - ((value - least) / span) * (HEIGHT - 2 * MARGIN);
  let path = '';
  let isDown = false;
  for (const [place, value] of thinned.entries()) {
    if (value !== null) path += `${isDown ? 'L' : 'M'}${round(x(place))} ${round(y(value))}`;
    isDown = value !== null;
  }
  return markup`<svg class="spark" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true" focusable="false"><path d="${path}"/></svg>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** At most this many values: of each stretch the one that lies furthest from the one before, so that peaks stay. */
function thin(values: readonly (number | null)[], most: number): (number | null)[] {
  if (values.length <= most) return [...values];
  const size = values.length / most;
  let before: number | null = null;
  return Array.from({ length: most }, (_, place) => {
    const stretch = values
      .slice(Math.floor(place * size), Math.floor((place + 1) * size))
      .filter((value) => value !== null);
    const [first = null] = stretch;
    const from: number | null = before ?? first;
    const furthest = stretch.reduce<number | null>(
      (found, value) =>
        found === null || Math.abs(value - (from ?? value)) > Math.abs(found - (from ?? found)) ? value : found,
      null,
    );
    before = furthest ?? before;
    return furthest;
  });
}
