import { expect, test } from 'vitest';

import { searchCases } from '../../benchmarks/latency-search.ts';
import { type JudgedPoint, judgePoints, type SearchPoint, searchStep } from '../../src/judge/latency-search.ts';

const LIMIT = { ms: 5, error: 0.05 };

function point(at: number, values: readonly number[], isSpent = false): SearchPoint {
  return { cellKey: String(at), at, values, past: [], kind: '', isSpent };
}

function judged(points: readonly SearchPoint[]): JudgedPoint[] {
  const [first = []] = judgePoints([points], LIMIT);
  return first;
}

const step = (points: readonly SearchPoint[]) => searchStep(judged(points));

test('the answer of the whole product in 95 % of simulated cases, with at most 40 % of its runs', () => {
  for (const seed of [1, 2, 3]) {
    const { product, runs, same } = searchCases(100, seed);
    expect(same).toBeGreaterThanOrEqual(95);
    expect(runs / product).toBeLessThan(0.4);
  }
});

test('far from the limit one run decides, near it more are needed, and at last the median', () => {
  const states = (values: readonly number[], isSpent = false) =>
    judged([point(1, values, isSpent)]).map(({ isClose, state }) => [state, isClose]);
  expect(states([4])).toEqual([['holds', false]]);
  expect(states([6])).toEqual([['misses', false]]);
  expect(states([4.95])).toEqual([['open', false]]);
  expect(states([4.9, 4.99, 5.01, 4.9], true)).toEqual([['holds', true]]);
  expect(states([4.9, 5.02, 5.01, 5.02], true)).toEqual([['misses', true]]);
  expect(states([])).toEqual([['notMeasured', false]]);
  expect(states([], true)).toEqual([['lost', false]]);
});

test('the noise of earlier sweeps decides where the assumed one does not', () => {
  const quiet = Array.from({ length: 20 }, (_, night) => 4.95 * (1 + 0.0005 * (night % 3)));
  const [[found] = []] = judgePoints([[{ ...point(1, [4.95]), past: quiet }]], LIMIT);
  expect(found?.state).toBe('holds');
});

test('bisects, looks twice at both sides of the limit and once above', () => {
  const levels = [1, 2, 3, 4, 6, 8, 10];
  const made = levels.map(() => 0);
  const asked: number[] = [];
  for (;;) {
    const points = levels.map((level, at) =>
      point(
        at,
        Array.from({ length: made[at] ?? 0 }, () => level),
      ),
    );
    const { best, isMonotone, next } = step(points);
    if (next === null) {
      expect([best?.at, isMonotone]).toEqual([3, true]);
      break;
    }
    asked.push(next.at);
    made[next.at] = (made[next.at] ?? 0) + 1;
  }
  expect(asked).toEqual([3, 5, 4, 3, 4]);
});

test('a larger point that is faster is told, and all above the answer are measured from the largest down', () => {
  const points = [point(1, [3, 3]), point(2, [9, 9]), point(4, []), point(8, [4]), point(16, []), point(32, [])];
  expect(step(points)).toMatchObject({ isMonotone: false, best: { at: 8 }, next: { at: 32 } });
});

test('what cannot be measured bounds the search from above', () => {
  const points = [point(1, [3, 3]), point(2, []), point(4, [], true), point(8, [])];
  expect(step(points)).toMatchObject({ isMonotone: true, best: { at: 1 }, next: { at: 2 } });
  expect(step(points.with(1, point(2, [3.5, 3.5]))).next).toBeNull();
});
