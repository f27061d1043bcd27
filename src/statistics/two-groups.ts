/** A difference and its standard error on the log scale. */
export interface Change {
  readonly difference: number;
  readonly error: number;
}

/** The likelihood hardly changes after this many rounds. */
const ROUNDS = 20;
/** Least share of a group, so that cells can return to it. */
const LEAST_SHARE = 0.02;

/**
 * Fits two groups of cells, one around 0 and one around an unknown change, by expectation maximization (Dempster, Laird
 * and Rubin 1977).
 * @returns the variance of cells beyond their errors; and the log likelihood ratio to one group around its mean
 */
export function twoGroups(changes: readonly Change[]) {
  const count = changes.length;
  const mean = averageOf(changes, ({ difference }) => difference);
  const square = averageOf(changes, ({ difference }) => (difference - mean) ** 2);
  const explained = averageOf(changes, ({ error }) => error ** 2);
  const single = changes.reduce(
    (sum, { difference }) => sum + Math.log(density(difference - mean, Math.max(square, explained))),
    0,
  );
  let [change, share, variance, together] = [2 * mean, 0.5, 0, 0];
  for (let round = 0; round < ROUNDS; round += 1) {
    let [weights, weighted, left] = [0, 0, 0];
    together = 0;
    for (const { difference, error } of changes) {
      const width = error ** 2 + variance;
      const still = (1 - share) * density(difference, width);
      const moved = share * density(difference - change, width);
      const weight = moved / (still + moved);
      together += Math.log(still + moved);
      weights += weight;
      weighted += weight * difference;
      left += (1 - weight) * difference ** 2 + weight * (difference - change) ** 2;
    }
    share = Math.min(1 - LEAST_SHARE, Math.max(LEAST_SHARE, weights / count));
    change = weighted / Math.max(weights, LEAST_SHARE);
    variance = Math.max(0, left / count - explained);
  }
  return { variance, gain: together - single };
}

/** Normal density with mean 0, up to a factor; never 0. */
function density(value: number, variance: number): number {
  return Math.exp(-(value ** 2) / (2 * variance)) / Math.sqrt(variance) + Number.MIN_VALUE;
}

function averageOf(changes: readonly Change[], of: (change: Change) => number): number {
  return changes.reduce((sum, change) => sum + of(change), 0) / changes.length;
}
