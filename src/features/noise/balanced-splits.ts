/** For each run, in the order in which they were made, whether it goes to the second half. */
type Split = readonly boolean[];

/**
 * The first three Walsh patterns: every second run, pairs of runs, and A B B A. Among four, eight or twelve runs they are
 * orthogonal, so that for normal noise the differences between the halves are independent of each other.
 */
const PATTERNS: readonly ((run: number) => boolean)[] = [
  (run) => run % 2 === 1,
  (run) => run % 4 >= 2,
  (run) => run % 4 === 1 || run % 4 === 2,
];

/** Halves of two runs are the smallest that get a verdict. */
const LEAST_RUNS = 4;

/** How many different ways of halving there are, at most. */
export const SPLITS = PATTERNS.length;

/** The n-th way of halving `runs` runs; null when there are too few, or when its halves differ by more than one run. */
export function balancedSplit(runs: number, n: number): Split | null {
  const pattern = PATTERNS[n];
  if (pattern === undefined || runs < LEAST_RUNS) return null;
  const split = Array.from({ length: runs }, (_, run) => pattern(run));
  const second = split.filter(Boolean).length;
  return Math.abs(runs - 2 * second) <= 1 ? split : null;
}
