import { expect, test } from 'vitest';

import { type JudgedPoint, pointJudge, type SearchPoint, searchStep } from '../../src/judge/latency-search.ts';
import { seededRandom } from '../../src/matrix/plan/order.ts';
import { median } from '../../src/statistics/order-statistics.ts';
import { normals } from '../support/simulated-store.ts';

const LIMIT = { maxLatencyMs: 5, surePercent: 95 };

function point(at: number, values: readonly number[], isSpent = false): SearchPoint {
  return { cellKey: String(at), at, base: [], head: values, past: [], kind: '', isSpent };
}

function judged(points: readonly SearchPoint[]): JudgedPoint[] {
  return points.map(pointJudge(points, LIMIT));
}

const step = (points: readonly SearchPoint[]) => searchStep(judged(points));

const REPEATS = 5;

/**
 * One axis of 6 to 16 batches with five runs of each, and a limit between the lowest latency and the highest, or just
 * outside: a floor and a power of the batch; runs differ by .2 to 3 %, every fortieth by 5 to 20 % more. In a tenth of
 * the cases a batch in the middle is 10 to 40 % slower than it should be.
 */
function simulatedAxis(random: () => number, normal: () => number) {
  const count = 6 + Math.floor(random() * 11);
  const batches = Array.from({ length: count }, random() < 0.5 ? (_, at) => 4 * (at + 1) : (_, at) => 2 ** at);
  const [floor, slope, power] = [0.1 + random(), 0.02 + 0.2 * random(), 0.7 + 0.35 * random()];
  const slow = random() < 0.1 ? Math.floor(random() * count) : -1;
  const levels = batches.map(
    (batch, at) => (floor + slope * batch ** power) * (at === slow ? 1.1 + 0.3 * random() : 1),
  );
  const [least, most] = [Math.min(...levels) / 1.1, Math.max(...levels) * 1.1];
  const sigma = 0.002 * 15 ** random();
  const run = (ms: number): number =>
    ms * Math.exp(sigma * normal()) * (random() < 1 / 40 ? 1.05 + 0.15 * random() : 1);
  return {
    ms: least * (most / least) ** random(),
    batches,
    runs: levels.map((ms) => Array.from({ length: REPEATS }, () => run(ms))),
  };
}

test('the answer of the whole product in 95 % of simulated cases, with at most 40 % of its runs', () => {
  const [random, normal] = [seededRandom(1), normals(2)];
  const tally = { same: 0, runs: 0, product: 0 };
  for (let axis = 0; axis < 300; axis += 1) {
    const { batches, ms, runs } = simulatedAxis(random, normal);
    const made = batches.map(() => 0);
    const next = () => {
      const points = batches.map((at, place) => {
        const values = (runs[place] ?? []).slice(0, made[place]);
        return point(at, values, values.length === REPEATS);
      });
      return searchStep(points.map(pointJudge(points, { maxLatencyMs: ms, surePercent: 95 })));
    };
    let found = next();
    for (; found.next !== null; found = next()) {
      const place = batches.indexOf(found.next.at);
      made[place] = (made[place] ?? 0) + 1;
    }
    const product = batches.findLast((_, place) => (median(runs[place] ?? []) ?? Infinity) <= ms);
    tally.same += Number(found.best?.at === product);
    tally.runs += made.reduce((sum, one) => sum + one, 0);
    tally.product += batches.length * REPEATS;
  }
  expect(tally.same).toBeGreaterThanOrEqual(285);
  expect(tally.runs / tally.product).toBeLessThan(0.4);
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
  const [found] = judged([{ ...point(1, [4.95]), past: quiet }]);
  expect(found?.state).toBe('holds');
});

test('bisects, looks twice at both sides of the limit and once above', () => {
  const levels = [1, 2, 3, 4, 6, 8, 10];
  const made = levels.map(() => 0);
  const asked: number[] = [];
  for (;;) {
    const points = levels.map((level, at) => point(at, Array<number>(made[at] ?? 0).fill(level)));
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
