import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type GraphCommit, searchCommits } from '../../../src/features/bisect/commit-search.ts';
import type { Judged, StepVerdict } from '../../../src/features/bisect/turns.ts';

function line(length: number): GraphCommit[] {
  return Array.from({ length }, (_, place) => ({ commit: `c${place}`, parents: [`c${place - 1}`] }));
}

/** Searches to the end; `judge` says what a test of a commit gives. */
function search(commits: readonly GraphCommit[], judge: (commit: string) => StepVerdict) {
  const judged: Judged[] = [];
  for (;;) {
    const state = searchCommits(commits, judged);
    if (state.kind !== 'test') return { state, judged };
    expect(judged.map(({ candidate }) => candidate)).not.toContain(state.candidate);
    judged.push({ candidate: state.candidate, verdict: judge(state.candidate) });
  }
}

const placeOf = (commit: string): number => Number(commit.slice(1));
const bound = (length: number): number => Math.ceil(Math.log2(length));

/** A commit and all that it contains. */
function contained(commits: readonly GraphCommit[], commit: string): Set<string> {
  const found = new Set([commit]);
  for (const entry of commits.toReversed()) {
    if (found.has(entry.commit)) for (const parent of entry.parents) found.add(parent);
  }
  return found;
}

describe('a straight line of commits', () => {
  test('every culprit among 1 to 200 commits is found in at most ceil(log2 n) tests', () => {
    const short = Array.from({ length: 40 }, (_, place) => place + 1);
    for (const length of [...short, 63, 64, 65, 100, 127, 128, 129, 199, 200]) {
      const commits = line(length);
      for (let culprit = 0; culprit < length; culprit += 1) {
        const { state, judged } = search(commits, (commit) => (placeOf(commit) >= culprit ? 'bad' : 'good'));
        expect([length, state]).toEqual([length, { kind: 'found', names: [`c${culprit}`] }]);
        expect(judged.length).toBeLessThanOrEqual(bound(length));
      }
    }
  });

  test('commits that cannot be judged cost at most one and a half tests each; the culprit is never lost', () => {
    fc.assert(
      fc.property(
        fc
          .integer({ min: 1, max: 200 })
          .chain((length) =>
            fc.record({
              length: fc.constant(length),
              culprit: fc.integer({ min: 0, max: length - 1 }),
              lost: fc.array(fc.boolean(), { minLength: length, maxLength: length }),
            }),
          ),
        ({ length, culprit, lost }) => {
          const { state, judged } = search(line(length), (commit) => {
            const place = placeOf(commit);
            if (lost[place] === true) return 'broken';
            return place >= culprit ? 'bad' : 'good';
          });
          const left = state.names;
          expect(left).toContain(`c${culprit}`);
          // All but the last of what is left could not be judged: no commit is listed that could have been cleared.
          for (const commit of left.slice(0, -1)) expect(lost[placeOf(commit)]).toBe(true);
          const skipped = judged.filter(({ verdict }) => verdict !== 'good' && verdict !== 'bad');
          expect(judged.length).toBeLessThanOrEqual(bound(length) + 1.5 * skipped.length);
        },
      ),
      { seed: 7, numRuns: 2000 },
    );
  });

  test('a long stretch of broken commits is left behind after a few tries', () => {
    const isBroken = (place: number): boolean => place >= 60 && place < 140;
    const tries = Array.from({ length: 200 }, (_, culprit) => culprit)
      // Beside the stretch there is no way around it: which of them is to blame is the question.
      .filter((culprit) => culprit < 52 || culprit > 148)
      .map((culprit) => {
        const { state, judged } = search(line(200), (commit) =>
          isBroken(placeOf(commit)) ? 'broken' : placeOf(commit) >= culprit ? 'bad' : 'good',
        );
        expect(state).toEqual({ kind: 'found', names: [`c${culprit}`] });
        return judged.filter(({ verdict }) => verdict === 'broken').length;
      });
    // A search that only tries neighbours needs up to 80.
    expect(Math.max(...tries)).toBeLessThanOrEqual(24);
    expect(tries.reduce((sum, count) => sum + count, 0) / tries.length).toBeLessThan(6);
  });

  test('six unclear commits in a row end the search, with all that it may be', () => {
    const { state, judged } = search(line(200), (commit) =>
      placeOf(commit) < 50 ? 'good' : placeOf(commit) > 150 ? 'bad' : 'unclear',
    );
    expect(judged.length).toBeLessThan(20);
    const left = state.kind === 'range' ? state.names : [];
    for (let place = 51; place <= 150; place += 1) expect(left).toContain(`c${place}`);
  });

  test('a neighbour is tried first, and a broken commit before the culprit leaves both', () => {
    const commits = line(8);
    expect(searchCommits(commits, [])).toEqual({ kind: 'test', candidate: 'c3' });
    const broken: Judged = { candidate: 'c3', verdict: 'broken' };
    const next = searchCommits(commits, [broken]);
    expect(['c2', 'c4']).toContain(next.kind === 'test' ? next.candidate : '');
    const { state } = search(commits, (commit) => (commit === 'c3' ? 'broken' : placeOf(commit) >= 4 ? 'bad' : 'good'));
    expect(state).toEqual({ kind: 'range', names: ['c3', 'c4'] });
  });
});

describe('history with merges', () => {
  const graphs = fc
    .integer({ min: 2, max: 40 })
    .chain((length) =>
      fc.record({
        length: fc.constant(length),
        picks: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.boolean()), { minLength: length, maxLength: length }),
        culprit: fc.nat(),
      }),
    )
    .map(({ length, picks, culprit }) => {
      // Each commit has one or two parents before it; the last one joins every open line.
      const commits: GraphCommit[] = picks
        .slice(0, length - 1)
        .map(([a, b, merges], place) => ({
          commit: `c${place}`,
          parents: place === 0 ? ['good'] : [...new Set([`c${a % place}`, ...(merges ? [`c${b % place}`] : [])])],
        }));
      const parents = new Set(commits.flatMap((entry) => entry.parents));
      const tips = commits.map(({ commit }) => commit).filter((commit) => !parents.has(commit));
      return { commits: [...commits, { commit: `c${length - 1}`, parents: tips }], culprit: `c${culprit % length}` };
    });

  test('the culprit is found on whatever line it is', () => {
    fc.assert(
      fc.property(graphs, ({ commits, culprit }) => {
        const { state, judged } = search(commits, (commit) =>
          contained(commits, commit).has(culprit) ? 'bad' : 'good',
        );
        expect(state).toEqual({ kind: 'found', names: [culprit] });
        expect(judged.length).toBeLessThan(commits.length);
      }),
      { seed: 3, numRuns: 1000 },
    );
  });

  test('a side line of 16 commits beside one of 16 takes no more tests than a line of 34', () => {
    const side = (name: string): GraphCommit[] =>
      Array.from({ length: 16 }, (_, place) => ({
        commit: `${name}${place}`,
        parents: [place === 0 ? 'good' : `${name}${place - 1}`],
      }));
    const commits = [...side('a'), ...side('b'), { commit: 'merge', parents: ['a15', 'b15'] }];
    for (const { commit: culprit } of commits) {
      const { state, judged } = search(commits, (commit) => (contained(commits, commit).has(culprit) ? 'bad' : 'good'));
      expect(state).toEqual({ kind: 'found', names: [culprit] });
      expect(judged.length).toBeLessThanOrEqual(6);
    }
  });
});
