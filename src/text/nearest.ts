export function nearest(word: string, allowed: readonly string[]): string | null {
  // `spinWait` for `spin`.
  let best = allowed.find((one) => word.length > 3 && one.toLowerCase().includes(word.toLowerCase())) ?? null;
  // A third of the letters may be wrong, but at least one.
  let limit = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of allowed) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < limit) {
      limit = distance;
      best = candidate;
    }
  }
  return best;
}

/** `; did you mean "fp16"?`, or empty. */
export function didYouMean(word: string, allowed: readonly string[]): string {
  const guess = nearest(word, allowed);
  return guess === null ? '' : `; did you mean "${guess}"?`;
}

/**
 * Edit distance: insertions, deletions, substitutions and swaps of neighbors (optimal string alignment, Damerau 1964).
 */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
