const DIGITS = 6;
/** The powers of ten from which numbers have ranks, a decade each: 1e-9 to 1e5. */
const DECADES = Float64Array.from({ length: 15 }, (_, decade) => Number(`1e${decade - 9}`));
/** Numbers of six digits in a decade, and the smallest such integer. */
const [PER_DECADE, LEAST] = [900_000, 100_000];
/** By what a number of a decade is an integer of six digits. */
const SCALES = DECADES.map((_, decade) => Number(`1e${DIGITS + 8 - decade}`));
const RANKS = DECADES.length * PER_DECADE;

/** True of 0, and of what is written with six digits, from 1e-9 and below a million. */
export function isPrinted(value: number): boolean {
  return value === printedAt(rankOf(value)) && !Object.is(value, -0);
}

/** How many numbers of six digits are smaller than the one nearest to a value; 0 of 0 and of what is smaller than all. */
export function rankOf(value: number): number {
  const decade = decadeOf(value);
  if (decade < 0) return 0;
  return Math.min(decade * PER_DECADE + Math.round(value * (SCALES[decade] ?? 0)) + 1 - LEAST, RANKS);
}

/** The number of six digits with a rank. */
export function printedAt(rank: number): number {
  if (rank <= 0) return 0;
  const decade = Math.floor((rank - 1) / PER_DECADE);
  return (rank - 1 - decade * PER_DECADE + LEAST) / (SCALES[decade] ?? 1);
}

/** How far two numbers of six digits are apart around a value. */
export function unitAt(value: number): number {
  return 1 / (SCALES[Math.max(0, decadeOf(value))] ?? 1);
}

function decadeOf(value: number): number {
  let decade = value >= 1 ? 9 : value >= 0.01 ? 7 : 0;
  while (decade < DECADES.length && value >= (DECADES[decade] ?? 0)) decade += 1;
  return value >= 1e-9 ? decade - 1 : -1;
}
