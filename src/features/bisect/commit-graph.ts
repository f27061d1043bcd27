/** A commit of a range; parents outside of the range are of no interest. */
export interface GraphCommit {
  readonly commit: string;
  readonly parents: readonly string[];
}

const WORD_BITS = 32;

/**
 * Of each commit how many of `counted` are itself or an ancestor of it.
 * @param commits parents before their children
 */
export function countAncestors(
  commits: readonly GraphCommit[],
  counted: ReadonlySet<string>,
): { readonly commit: string; readonly count: number }[] {
  const bits = new Map([...counted].map((commit, bit) => [commit, bit]));
  const words = Math.ceil(bits.size / WORD_BITS);
  const sets = new Map<string, Uint32Array>();
  return commits.map(({ commit, parents }) => {
    const set = new Uint32Array(words);
    for (const parent of parents) join(set, sets.get(parent));
    const bit = bits.get(commit);
    if (bit !== undefined) {
      const word = bit >>> 5;
      set[word] = ((set[word] ?? 0) | (1 << (bit & 31))) >>> 0;
    }
    sets.set(commit, set);
    return { commit, count: set.reduce((sum, word) => sum + onesIn(word), 0) };
  });
}

function join(set: Uint32Array, other: Uint32Array | undefined): void {
  if (other === undefined) return;
  for (let word = 0; word < set.length; word += 1) {
    set[word] = ((set[word] ?? 0) | (other[word] ?? 0)) >>> 0;
  }
}

/** How many bits of 32 are set (Hacker's Delight, 5-1). */
function onesIn(word: number): number {
  let ones = word - ((word >>> 1) & 0x55555555);
  ones = (ones & 0x33333333) + ((ones >>> 2) & 0x33333333);
  return Math.imul((ones + (ones >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
