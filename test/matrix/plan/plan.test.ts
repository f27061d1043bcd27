import { describe, expect, test } from 'vitest';

import {
  assignGpus,
  comparedTogether,
  fitBudget,
  type TimeEstimates,
  totalEstimateS,
} from '../../../src/matrix/plan/assign-gpus.ts';
import { makePlan } from '../../../src/matrix/plan/make-plan.ts';
import { inRounds } from '../../../src/matrix/plan/order.ts';
import { Dialect } from '../../../src/trtexec/arguments/dialect.ts';
import { matrixFrom, oneModel } from '../../support/matrices.ts';
import { planOfCells } from '../../support/plans.ts';
import { planOfShard, shardPlan } from '../../../src/matrix/plan/shards.ts';

test('repeats are spread round by round, each round in its own order', () => {
  const order = inRounds(['a', 'b', 'c', 'd'], 3, 7);
  expect(order.map(({ repeat }) => repeat)).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
  for (const round of [1, 2, 3]) {
    const items = order.filter(({ repeat }) => repeat === round).map(({ item }) => item);
    expect(items.toSorted()).toEqual(['a', 'b', 'c', 'd']);
  }
});

test('the same seed gives the same order, another seed another one', () => {
  const items = Array.from({ length: 20 }, (_, i) => i);
  expect(inRounds(items, 2, 1)).toEqual(inRounds(items, 2, 1));
  expect(inRounds(items, 2, 1)).not.toEqual(inRounds(items, 2, 2));
});

test('pairs stay neighbours in every round, and take turns at coming first', () => {
  const pairOf = (item: string): string | null => (item === 'alone' ? null : item.charAt(0));
  const order = inRounds(['a1', 'a2', 'b1', 'b2', 'c1', 'c2', 'alone'], 6, 5, pairOf);
  expect(order).toHaveLength(42);
  for (const pair of ['a', 'b', 'c']) {
    const firsts = Array.from({ length: 6 }, (_, round) => {
      const places = order.flatMap(({ item, repeat }, place) =>
        pairOf(item) === pair && repeat === round + 1 ? [place] : [],
      );
      expect((places[1] ?? 0) - (places[0] ?? 0)).toBe(1);
      return order[places[0] ?? 0]?.item;
    });
    expect(new Set(firsts).size).toBe(2);
    for (const [round, first] of firsts.entries()) expect(first === firsts[0]).toBe(round % 2 === 0);
  }
  expect(order.filter(({ item }) => item === 'alone')).toHaveLength(6);
});

const matrix = matrixFrom(
  oneModel(
    'axes: {precision: [fp16, fp8], batch: [1, 2, 4, 8], cudaGraph: [on, off]}',
    'build: {opt: {batch: 8}}',
    'repeats: 3',
  ),
);
const DIALECT = new Dialect({ major: 10, minor: 6, patch: 0 });
const OPTIONS = { seed: 1, repeats: 3, profile: true, builds: 1, forcesTimingCaches: false };
const SHARDED = makePlan(matrix, matrix.cells, DIALECT, OPTIONS);

test('cells above 8 s are noted: the timer gets coarse; a pause before each timed run is part of the estimate', () => {
  const long = matrixFrom(oneModel('axes: {precision: [fp16], batch: [1], durationS: [3, 8, 60]}'));
  const { notes } = makePlan(long, long.cells, DIALECT, OPTIONS);
  expect([...SHARDED.notes, ...notes]).toEqual([expect.stringMatching(/^1 cell has durationS above 8: .* 1 µs/)]);
  const given = matrixFrom('models: {m: {engine: e.plan, shapes: {x: [1]}}}');
  const built = makePlan(given, given.cells, DIALECT, { ...OPTIONS, builds: 3 });
  expect([built.repeats, built.notes]).toEqual([3, ['options of builds have no effect: no engine is built']]);
  const paused = makePlan(matrix, matrix.cells, DIALECT, { ...OPTIONS, coolDown: { kind: 'pause', seconds: 10 } });
  expect(totalEstimateS(paused, false) - totalEstimateS(SHARDED, false)).toBeCloseTo(10 * 48, 6);
});

test('what is compared is in one shard, its runs interleaved; every run is in exactly one', () => {
  const { plan: sharded, shards } = shardPlan(SHARDED, 1, true);
  // One for each batch: both precisions, with and without a graph.
  expect(shards.map(({ cellKeys }) => cellKeys.length)).toEqual([4, 4, 4, 4]);
  const parts = shards.map((shard) => planOfShard(sharded, shard));
  for (const part of parts) {
    expect(new Set(part.cells.map(({ cell }) => JSON.stringify(cell.shapes))).size).toBe(1);
    const timed = part.runs.filter(({ role }) => role === 'timed');
    expect(timed.map(({ repeat }) => repeat)).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
  }
  const runs = parts.flatMap((part) => part.runs);
  expect(runs).toHaveLength(SHARDED.runs.length);
  expect(new Set(runs.map(({ role, cellKey, repeat }) => `${role} ${cellKey} ${repeat}`)).size).toBe(
    SHARDED.runs.length,
  );
});

test('with time enough all is one shard', () => expect(shardPlan(SHARDED, 86_400, true).shards).toHaveLength(1));

const [A, B, C] = ['GPU-a', 'GPU-b', 'GPU-c'];

describe('cells are shared out among GPUs', () => {
  test('the longest first, where there is the least to do', () => {
    const plan = planOfCells([
      { batch: 1, seconds: 10 },
      { batch: 2, seconds: 10 },
      { batch: 4, seconds: 40 },
      { batch: 8, seconds: 25 },
    ]);
    const keys = plan.cells.map(({ cell }) => cell.key);
    const assigned = assignGpus(plan, [A, B], new Map());
    // 40 | 25, then 10 and 10 beside the 25: 40 s and 45 s.
    expect(keys.map((key) => assigned[key])).toEqual([B, B, A, B]);
  });

  test('each goes where it was measured last, whatever that costs', () => {
    const plan = planOfCells([1, 2, 4, 8].map((batch) => ({ batch, seconds: 10 })));
    const previous = new Map(plan.cells.map(({ cell }) => cell.key).map((key) => [key, B]));
    expect(Object.values(assignGpus(plan, [A, B, C], previous))).toEqual([B, B, B, B]);
    // That GPU is not used tonight.
    expect(new Set(Object.values(assignGpus(plan, [A, C], previous)))).toEqual(new Set([A, C]));
  });

  test('precisions and graph of one model and shape stay together', () => {
    const plan = planOfCells([
      { batch: 1, seconds: 10 },
      { batch: 1, seconds: 10, precision: 'fp8' },
      { batch: 1, seconds: 10, cudaGraph: false },
      { batch: 2, seconds: 10 },
    ]);
    const cells = plan.cells.map(({ cell }) => cell);
    expect(comparedTogether(cells).map((group) => group.length)).toEqual([3, 1]);
    const assigned = assignGpus(plan, [A, B], new Map());
    expect(cells.map(({ key }) => assigned[key])).toEqual([A, A, A, B]);
    // Two of the three were on B before: the third follows them.
    const previous = new Map(cells.map(({ key }, place) => [key, place === 2 ? A : B]));
    expect(cells.map(({ key }) => assignGpus(plan, [A, B], previous)[key])).toEqual([B, B, B, B]);
  });
});

const BUILT: Pick<TimeEstimates, 'buildS' | 'runS'> = { buildS: new Map([['engine', 0]]), runS: new Map() };

/** Six cells of ten seconds each, that do not belong together. */
const PLAN = planOfCells([1, 2, 3, 4, 5, 6].map((batch) => ({ batch, seconds: 10 })));
const KEYS = PLAN.cells.map(({ cell }) => cell.key);

function nights(...days: (number | null)[]): ReadonlyMap<string, string> {
  return new Map(
    days.flatMap((day, place): [string, string][] =>
      day === null ? [] : [[KEYS[place] ?? '', `2026-11-0${day}T01:00:00.000Z`]],
    ),
  );
}

const batchesOf = ({ cells }: typeof PLAN): number[] => cells.map(({ cell }) => cell.shapes['input']?.[0] ?? 0);

describe('a plan is fitted to a time', () => {
  test('what was measured longest ago, or never, comes first', () => {
    const fitted = fitBudget(PLAN, 35, { ...BUILT, measuredAt: nights(3, 3, 1, 2, null, 3) }, 1);
    expect([batchesOf(fitted.plan), fitted.plan.runs.length, fitted.leftOutS]).toEqual([[3, 4, 5], 3, 30]);
  });

  test('times of earlier runs go before what the plan expects, and builds count once', () => {
    const plan = planOfCells([
      { batch: 1, seconds: 10, engine: 'a' },
      { batch: 2, seconds: 10, engine: 'a' },
      { batch: 3, seconds: 10, engine: 'b' },
    ]);
    const [first = ''] = plan.cells.map(({ cell }) => cell.key);
    const estimates = { runS: new Map([[first, 4]]), buildS: new Map([['a', 30]]), measuredAt: nights() };
    // 30 + 4, then 10; the other engine was never built: a minute is taken for it.
    const fitted = fitBudget(plan, 50, estimates, 1);
    expect(batchesOf(fitted.plan)).toEqual([1, 2]);
    expect([fitted.plan.builds.map(({ buildRef }) => buildRef), fitted.leftOutS]).toEqual([['a'], 70]);
    expect([totalEstimateS(plan, false, estimates), totalEstimateS(plan, false)]).toEqual([24, 30]);
  });

  test('two GPUs measure twice as much; one cell is measured in any case', () => {
    const estimates = { ...BUILT, measuredAt: nights() };
    expect(batchesOf(fitBudget(PLAN, 20, estimates, 2).plan)).toEqual([1, 2, 3, 4]);
    expect(batchesOf(fitBudget(PLAN, 1, estimates, 1).plan)).toEqual([1]);
  });
});
