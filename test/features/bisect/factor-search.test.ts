import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type JudgedFactors, searchFactors } from '../../../src/features/bisect/factors.ts';

const named = (count: number): string[] => Array.from({ length: count }, (_, place) => `f${place}`);

function search(factors: readonly string[], judge: (bad: readonly string[]) => JudgedFactors['verdict']) {
  const judged: JudgedFactors[] = [];
  for (;;) {
    const state = searchFactors(factors, judged);
    if (state.kind !== 'test') return { state, judged };
    expect(judged.map(({ bad }) => bad)).not.toContainEqual(state.candidate);
    expect(state.candidate.length).toBeLessThan(factors.length);
    judged.push({ bad: state.candidate, verdict: judge(state.candidate) });
  }
}

describe('factors other than commits', () => {
  test('each of 1 to 33 is found and was tested alone, in at most ceil(log2 n) + 1 tests', () => {
    for (let count = 1; count <= 33; count += 1) {
      for (const culprit of named(count)) {
        const { state, judged } = search(named(count), (bad) => (bad.includes(culprit) ? 'bad' : 'good'));
        expect(state).toEqual({ kind: 'found', names: [culprit] });
        expect(judged.length).toBeLessThanOrEqual(Math.ceil(Math.log2(count)) + 1);
        const alone = judged.some(({ bad }) => bad.length === 1 && bad[0] === culprit);
        expect(alone || count === 1).toBe(true);
      }
    }
  });

  test('two that do harm only together are not taken for one', () => {
    for (const [a, b] of [
      ['f0', 'f1'],
      ['f0', 'f7'],
      ['f3', 'f4'],
    ] as const) {
      const { state } = search(named(8), (bad) => (bad.includes(a) && bad.includes(b) ? 'bad' : 'good'));
      expect(state).toEqual({ kind: 'together', names: named(8) });
    }
  });

  test('whatever cannot be measured, it ends and does not clear the culprit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.nat(),
        fc.func(fc.integer({ min: 0, max: 2 })),
        (count, pick, luck) => {
          const factors = named(count);
          const culprit = factors[pick % count] ?? '';
          const { state } = search(factors, (bad) =>
            luck(bad) === 0 ? 'unclear' : bad.includes(culprit) ? 'bad' : 'good',
          );
          if (state.kind === 'found') expect(state.names).toEqual([culprit]);
          else expect(state.names).toContain(culprit);
        },
      ),
      { seed: 5, numRuns: 500 },
    );
  });
});
