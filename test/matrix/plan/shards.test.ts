import { expect, test } from 'vitest';

import { Dialect } from '../../../src/trtexec/arguments/dialect.ts';
import { makePlan } from '../../../src/matrix/plan/make-plan.ts';
import { planOfShard, shardPlan } from '../../../src/matrix/plan/assign-gpus.ts';
import { matrixFrom, oneModel } from '../../support/matrices.ts';

const matrix = matrixFrom(
  oneModel(
    'axes: {precision: [fp16, fp8], batch: [1, 2, 4, 8], cudaGraph: [on, off]}',
    'build: {opt: {batch: 8}}',
    'repeats: 3',
  ),
);
const plan = makePlan(matrix, matrix.cells, new Dialect({ major: 10, minor: 6, patch: 0 }), {
  seed: 1,
  repeats: 3,
  profile: true,
  builds: 1,
  forcesTimingCaches: false,
});

test('what is compared is in one shard, its runs interleaved; every run is in exactly one', () => {
  const { plan: sharded, shards } = shardPlan(plan, 1, true);
  // One for each batch: both precisions, with and without a graph.
  expect(shards.map(({ cellKeys }) => cellKeys.length)).toEqual([4, 4, 4, 4]);
  const parts = shards.map((shard) => planOfShard(sharded, shard));
  for (const part of parts) {
    expect(new Set(part.cells.map(({ cell }) => JSON.stringify(cell.shapes))).size).toBe(1);
    const timed = part.runs.filter(({ role }) => role === 'timed');
    expect(timed.map(({ repeat }) => repeat)).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
  }
  const runs = parts.flatMap((part) => part.runs);
  expect(runs).toHaveLength(plan.runs.length);
  expect(new Set(runs.map(({ role, cellKey, repeat }) => `${role} ${cellKey} ${repeat}`)).size).toBe(plan.runs.length);
});

test('a shard builds its own engine, though all could share one', () => {
  const { plan: sharded, shards } = shardPlan(plan, 1, true);
  const refs = shards.map((shard) => planOfShard(sharded, shard).builds.map((build) => build.buildRef));
  expect(refs.map((own) => own.length)).toEqual([1, 1, 1, 1]);
  expect(new Set(refs.flat()).size).toBe(4);
  for (const shard of shards) {
    const part = planOfShard(sharded, shard);
    const built = new Set(part.builds.map(({ buildRef }) => buildRef));
    expect(part.runs.every(({ buildRef }) => built.has(buildRef))).toBe(true);
  }
});

test('with time enough all is one shard', () => {
  expect(shardPlan(plan, 86_400, true).shards).toHaveLength(1);
});
