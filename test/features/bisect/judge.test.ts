import { describe, expect, test } from 'vitest';

import { judgeCandidate } from '../../../src/features/bisect/judge-candidate.ts';
import { candidateTurn, endsTurn, judgeEnds } from '../../../src/features/bisect/turns.ts';
import { normals } from '../../support/simulated-store.ts';

/** Runs around a level, the same for the same seed; noise as a share. */
function runs(count: number, level: number, noise: number, seed: number): number[] {
  const normal = normals(seed);
  return Array.from({ length: count }, () => level * Math.exp(noise * normal()));
}

describe('the two ends', () => {
  const ends = (good: number[], bad: number[]) => judgeEnds({ good, bad, betterIs: 'lower' }).kind;

  test('clearly slower, not slower, and not yet known', () => {
    expect(ends([1, 1.001, 0.999, 1], [1.03, 1.031, 1.029, 1.03])).toBe('slower');
    expect(ends([1, 1.001, 0.999, 1], [1.03, 1.031, 1.029])).toBe('more');
    expect(ends([1, 1.001, 0.999, 1], [1, 1.001, 0.999, 1.0005])).toBe('notSlower');
    expect(ends([1.03, 1.031, 1.029, 1.03], [1, 1.001, 0.999, 1])).toBe('notSlower');
    expect(ends([1, 1.05, 0.95, 1], [1.03, 1.06, 0.97, 1.04])).toBe('more');
  });

  test('throughput that falls is slower', () => {
    const [good, bad] = [
      [100, 100.1, 99.9, 100],
      [97, 97.1, 96.9, 97],
    ];
    expect(judgeEnds({ good, bad, betterIs: 'higher' }).kind).toBe('slower');
    expect(judgeEnds({ good: bad, bad: good, betterIs: 'higher' }).kind).toBe('notSlower');
  });

  test('ends that do not differ are called slower in no more than 3 % of all trials, looked at after every run', () => {
    const trials = 500;
    let called = 0;
    for (let seed = 1; seed <= trials; seed += 1) {
      const [good, bad] = [runs(30, 1, 0.01, seed), runs(30, 1, 0.01, 10_000 + seed)];
      for (let count = 4; count <= 30; count += 1) {
        const { kind } = judgeEnds({ good: good.slice(0, count), bad: bad.slice(0, count), betterIs: 'lower' });
        if (kind === 'slower') called += 1;
        if (kind !== 'more') break;
      }
    }
    expect(called / trials).toBeLessThanOrEqual(0.03);
  });
});

describe('a candidate', () => {
  const judge = (candidate: number[], drift = 1, inTurn = 4) => {
    const end = (level: number, seed: number) => ({
      values: [...runs(8, level, 0.005, seed), ...runs(inTurn, level, 0.005, seed + 1).map((value) => value * drift)],
      inTurn,
    });
    return judgeCandidate({ good: end(1, 1), bad: end(1.03, 5), candidate, others: [], tests: 8 });
  };

  test('is judged by the end that it is like', () => {
    expect(judge(runs(4, 1, 0.005, 20)).kind).toBe('good');
    expect(judge(runs(4, 1.03, 0.005, 21)).kind).toBe('bad');
    expect(judge(runs(1, 1.03, 0.005, 22)).kind).toBe('more');
    expect(judge([1.014, 1.016]).kind).toBe('more');
  });

  test('a machine that is 3 % slower meanwhile makes no good candidate bad', () => {
    const { kind, driftPercent } = judge(runs(4, 1.03, 0.005, 20), 1.03);
    expect(kind).toBe('good');
    expect(driftPercent).toBeGreaterThan(2);
    expect(driftPercent).toBeLessThan(4);
    expect(judge(runs(4, 1.0609, 0.005, 21), 1.03).kind).toBe('bad');
  });

  test('runs that are alike to the last digit are no division by zero', () => {
    const same = (level: number) => ({ values: [level, level, level, level], inTurn: 0 });
    const ends = { good: same(1), bad: same(1.02), others: [], tests: 8 };
    expect(judgeCandidate({ ...ends, candidate: [1.02, 1.02] }).kind).toBe('bad');
    expect(judgeCandidate({ ...ends, candidate: [1, 1] }).kind).toBe('good');
  });
});

describe('whose turn it is', () => {
  const side = (values: (number | null)[], canRun = true) => ({ values, canRun });
  const rules = { betterIs: 'lower' as const, maxRuns: 6 };

  test('good and bad in turn, and an end after its most runs', () => {
    expect(endsTurn({ good: side([]), bad: side([]), ...rules })).toEqual({ kind: 'run', side: 'good' });
    expect(endsTurn({ good: side([1]), bad: side([]), ...rules })).toEqual({ kind: 'run', side: 'bad' });
    const noisy = side([1, 1.2, 0.8, 1.1, 0.9, 1]);
    expect(endsTurn({ good: noisy, bad: noisy, ...rules })).toMatchObject({ kind: 'decided', verdict: 'unclear' });
    const failed = side([null, null]);
    expect(endsTurn({ good: failed, bad: failed, ...rules })).toMatchObject({ verdict: 'broken' });
  });

  test('a candidate after the end with fewer runs; recordings that have run out are not asked', () => {
    const good = [1, 1.01, 0.99, 1, 1.005];
    const bad = [1.03, 1.04, 1.02, 1.03];
    const turn = (candidate: (number | null)[], canRun = true, extra = 0) =>
      candidateTurn({
        ...rules,
        good: side(good, canRun),
        bad: side([...bad, ...Array.from({ length: extra }, () => 1.03)], canRun),
        candidate: side(candidate),
        before: { good: 5, bad: 4 },
        others: [],
        tests: 3,
      });
    expect(turn([])).toEqual({ kind: 'run', side: 'bad' });
    expect(turn([], true, 1)).toEqual({ kind: 'run', side: 'candidate' });
    expect(turn([1.015], true, 1)).toEqual({ kind: 'run', side: 'good' });
    expect(turn([], false)).toEqual({ kind: 'run', side: 'candidate' });
    expect(turn([null, null], false)).toMatchObject({ verdict: 'broken' });
    expect(turn([1.015, 1.015, 1.015, 1.015, 1.015, 1.015], false)).toMatchObject({ verdict: 'unclear' });
  });
});
