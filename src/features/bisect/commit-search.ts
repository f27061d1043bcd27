import { isHopeless, isSkipped, type Judged, type NextStep } from './turns.ts';

/**
 * Which commit to test next. A good commit clears itself and its ancestors, a bad one implicates itself and its own, so
 * merges are searched like straight lines. A commit that cannot be judged is replaced by a neighbor; after that the
 * search jumps away, as breakage often spans many commits. Commits between the last good and the first bad one that
 * could not be judged remain as a range. At most ceil(log2 n) tests for n commits, plus at most 1.5 for each that
 * cannot be judged.
 * @param commits those after the good end; the bad end is last; parents before children
 */
export function searchCommits(commits: readonly GraphCommit[], judged: readonly Judged[]): NextStep<string> {
  const suspects = suspectsOf(commits, judged);
  const tested = new Set(judged.map(({ candidate }) => candidate));
  const worst = suspects.at(-1);
  // The last suspect is the bad end, or a commit found to be bad.
  const testable = new Set(
    suspects.flatMap(({ commit }) => (tested.has(commit) || commit === worst?.commit ? [] : [commit])),
  );
  if (testable.size === 0 || isHopeless(judged)) {
    const names = suspects.map(({ commit }) => commit);
    return { kind: names.length === 1 ? 'found' : 'range', names };
  }
  return { kind: 'test', candidate: choose(suspects, testable, judged) };
}

/** Tests left if every commit can be judged. */
export function testsLeft(commits: readonly GraphCommit[], judged: readonly Judged[]): number {
  return Math.ceil(Math.log2(Math.max(1, suspectsOf(commits, judged).length)));
}

/** In every bad commit and in no good one: may be the first bad one. */
function suspectsOf(commits: readonly GraphCommit[], judged: readonly Judged[]): GraphCommit[] {
  const places = new Map(commits.map(({ commit }, place) => [commit, place]));
  const linesOf = (verdict: Judged['verdict']): Set<string>[] =>
    judged.filter((entry) => entry.verdict === verdict).map(({ candidate }) => lineOf(commits, places, candidate));
  const cleared = linesOf('good');
  const accused = linesOf('bad');
  return commits.filter(
    ({ commit }) => accused.every((line) => line.has(commit)) && !cleared.some((line) => line.has(commit)),
  );
}

function lineOf(commits: readonly GraphCommit[], places: ReadonlyMap<string, number>, commit: string): Set<string> {
  const line = new Set([commit]);
  for (let place = places.get(commit) ?? -1; place >= 0; place -= 1) {
    const entry = commits[place];
    if (entry === undefined || !line.has(entry.commit)) continue;
    for (const parent of entry.parents) if (places.has(parent)) line.add(parent);
  }
  return line;
}

/** Consecutive skips after which the search no longer tries neighbors. */
const JUMPS_AFTER = 2;

function choose(suspects: readonly GraphCommit[], testable: ReadonlySet<string>, judged: readonly Judged[]): string {
  const lastJudged = judged.findLastIndex((entry) => !isSkipped(entry));
  const skippedInRow = judged.length - 1 - lastJudged;
  const counts = countAncestors(suspects, testable).filter(({ commit }) => testable.has(commit));
  const part = skippedInRow < JUMPS_AFTER ? 0.5 : jump(skippedInRow - JUMPS_AFTER, counts.length);
  // The remaining range is smallest with as many testable commits before as after.
  const wanted = 1 + Math.floor(part * counts.length);
  const distance = ({ count }: { readonly count: number }): number => Math.abs(count - wanted);
  return counts.reduce((best, next) => (distance(next) < distance(best) ? next : best)).commit;
}

/**
 * 1/4, 3/4, 1/8, 7/8, 1/16, ...: towards both ends of a broken stretch. Once the ends are reached: 1/2, 1/4, 3/4, 1/8,
 * 5/8, ... (van der Corput 1935).
 */
function jump(number: number, testable: number): number {
  const part = 0.25 / 2 ** (number >> 1);
  if (part * testable >= 1) return number % 2 === 0 ? part : 1 - part;
  let spread = 0;
  for (let rest = number, weight = 0.5; rest > 0; rest >>= 1, weight /= 2) {
    spread += weight * (rest & 1);
  }
  return spread;
}

/** Parents outside of the range are ignored. */
export interface GraphCommit {
  readonly commit: string;
  readonly parents: readonly string[];
}

/**
 * For each commit, how many of `counted` are itself or its ancestors.
 * @param commits parents before children
 */
function countAncestors(
  commits: readonly GraphCommit[],
  counted: ReadonlySet<string>,
): { readonly commit: string; readonly count: number }[] {
  const bits = new Map([...counted].map((commit, bit) => [commit, 1n << BigInt(bit)]));
  /** Of each commit those in its line, a bit for each. */
  const lines = new Map<string, bigint>();
  return commits.map(({ commit, parents }) => {
    const line = parents.reduce((bitsOf, parent) => bitsOf | (lines.get(parent) ?? 0n), bits.get(commit) ?? 0n);
    lines.set(commit, line);
    return { commit, count: line.toString(2).replaceAll('0', '').length };
  });
}
