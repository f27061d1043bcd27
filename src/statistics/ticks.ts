/** Limits the steps for a range below the resolution of its numbers. */
const MOST_TICKS = 3;

/** Round numbers that divide a range into about this many steps. */
export function ticks(from: number, to: number, about: number): number[] {
  const span = to - from;
  if (!(span > 0)) return [from];
  const rough = span / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.ceil(from / step);
  const steps = Math.min(Math.floor(to / step) - first, MOST_TICKS * about);
  return Array.from({ length: Math.max(0, steps + 1) }, (_, place) => (first + place) * step);
}
