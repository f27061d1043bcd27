import { expect, test } from 'vitest';

import { planOfCells } from '../../src/matrix/plan/assign-gpus.ts';
import { cellFields } from '../../src/matrix/matrix.ts';
import { readFilter } from '../../src/matrix/filter.ts';
import { buildRefsOf, type Plan } from '../../src/records/plan.ts';
import { mistakesIn } from '../support/matrices.ts';
import { planFor } from '../support/plan-for.ts';
import { shardPlan } from '../../src/matrix/plan/shards.ts';

/** Two models with an engine each, and one that another program measures. */
const matrix = (axes: string, ofB = '', excluded = 'model=other'): string =>
  [
    'models:',
    '  a: {shapes: {input: [batch, 3]}, precisions: {fp16: {onnx: a.onnx}, fp8: {onnx: a8.onnx}}}',
    `  b: {shapes: {input: [batch, 3]}, precisions: {fp16: {onnx: b.onnx}}${ofB}}`,
    '  other: {harness: {kind: google-benchmark, run: [program], benchmark: one}}',
    `axes: {precision: fp16, batch: [4, 8]${axes}}`,
    'build: {opt: {batch: 8}}',
    `exclude: [${excluded}]`,
  ].join('\n');

const plan = planFor('10.6', matrix(', with: [none, b]'));
const labels = (cells: Plan['cells']) => cells.map(({ label }) => label);

test('a cell of its own in label, key and filter; other cells and engines are those of a matrix without the axis', () => {
  const alone = planFor('10.6', matrix(''));
  const isAlone = ({ label }: { label: string }) => !label.includes('with');
  expect(labels(plan.cells).filter((label) => !isAlone({ label }))).toEqual([
    'a fp16 4x3 graph with=b',
    'a fp16 8x3 graph with=b',
    'b fp16 4x3 graph with=b',
    'b fp16 8x3 graph with=b',
  ]);
  expect(plan.cells.filter(isAlone)).toEqual(alone.cells);
  expect([new Set(plan.cells.map(({ cell }) => cell.key)).size, plan.builds]).toEqual([8, alone.builds]);
  const fields = plan.cells.map(({ cell }) => cellFields(cell));
  for (const expression of ['with=none', '!with=b']) {
    const reading = readFilter(expression, fields);
    const chosen = plan.cells.filter(
      (_, place) => reading.kind === 'filter' && reading.filter(fields[place] ?? NOTHING),
    );
    expect(chosen.map(({ label }) => label)).toEqual(labels(alone.cells));
  }
});

const NOTHING = { values: new Map(), names: [], words: [] };

test('its neighbor loads the engine of its own model at the first shape, exports nothing and outlasts the run', () => {
  const run = plan.runs.find(({ neighbor }) => neighbor !== undefined);
  const engine = plan.builds.find(({ model }) => model === 'b')?.buildRef;
  const args = `--loadEngine={engine} --shapes=input:4x3 --warmUp=200 --duration=${run?.timeoutS}`;
  expect([run?.neighbor?.buildRef, run?.neighbor?.args.join(' ')]).toEqual([engine, expect.stringContaining(args)]);
  expect(run?.neighbor?.args.join(' ')).not.toContain('--export');
  expect(run?.args).toEqual(
    plan.runs.find((each) => each.neighbor === undefined && each.args[1] === run?.args[1])?.args,
  );
});

test('a part of a plan builds the engines of neighbors that it does not measure', () => {
  const part = planOfCells(plan, new Set(plan.cells.slice(2, 3).map(({ cell }) => cell.key)));
  const needed = new Set(part.runs.flatMap(buildRefsOf));
  const expected = [['a fp16 4x3 graph with=b'], ['a', 'b']];
  expect([labels(part.cells), part.builds.map(({ model }) => model)]).toEqual(expected);
  expect([...needed].toSorted()).toEqual(part.builds.map(({ buildRef }) => buildRef).toSorted());
  const { plan: sharded } = shardPlan(plan, 1, true);
  const built = new Set(sharded.builds.map(({ buildRef }) => buildRef));
  expect(sharded.runs.flatMap(buildRefsOf).filter((ref) => !built.has(ref))).toEqual([]);
});

test.each([
  ['a model that is not there', matrix(', with: [none, bb]'), '5:53: with: no model "bb"; did you mean "b"?'],
  [
    'a model of another program',
    matrix(', with: other'),
    '5:46: with: model "other" is measured by another program than trtexec, and cannot run next to one',
  ],
  [
    'a model without a cell in this precision',
    matrix(', with: b', ', axes: {precision: fp16}').replace('precision: fp16, batch', 'precision: fp8, batch'),
    '5:19: with: "b" has no cell in fp8 to run next to "a"',
  ],
  [
    'a model that cannot be built in this precision',
    matrix(', with: b', '', '"model=other | model=b"').replace('precision: fp16, batch', 'precision: fp8, batch'),
    '5:19: model "b" has nothing for fp8: give its base model (onnx: FILE), or a file for it (precisions: {fp8: {onnx: FILE}})',
  ],
])('%s is refused in one line, at its place', (_, text, line) => expect(mistakesIn(text)).toEqual([`m.yaml:${line}`]));
