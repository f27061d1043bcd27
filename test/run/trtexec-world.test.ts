import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, temporaryStore, refusal } from '../support/bench.ts';
import { queryStore, firstId } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

function place(more: readonly string[]) {
  const { folder, db } = temporaryStore();
  const matrix = stubMatrix(folder, ['repeats: 2', ...more]);
  return { folder, db, args: ['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry'] };
}

const NEWEST = { STUB_VERSION: '110100' };

describe('plugins', () => {
  test('count by their content, wherever they lie', async () => {
    const { args, db, folder } = place(['plugins: {dynamic: [one.so], static: [two.so]}']);
    writeFileSync(join(folder, 'one.so'), 'one');
    writeFileSync(join(folder, 'two.so'), 'two');
    const first = await bench(args);
    expect(first.stderr).toContain('built small fp16');
    const again = await bench(args);
    expect([again.stderr, first.code, again.code]).toEqual([expect.not.stringContaining('built small'), 0, 0]);
    writeFileSync(join(folder, 'one.so'), 'another');
    expect((await bench(args)).code).toBe(0);
    // The second sweep found the engine of the first, the third did not.
    const builds = queryStore(db, 'SELECT DISTINCT engine_key, flags FROM builds WHERE build_s IS NOT NULL');
    expect(builds).toHaveLength(2);
    const flags = JSON.stringify(builds);
    for (const [name, content] of [
      ['dynamicPlugins=one.so', 'one'],
      ['staticPlugins=two.so', 'two'],
      ['dynamicPlugins=one.so', 'another'],
    ] as const) {
      expect(flags).toContain(`--${name}@sha256:${createHash('sha256').update(content).digest('hex')}`);
    }
    expect(flags).not.toContain(folder);
  }, 60_000);

  test('one that is not there is told at its place, before anything is run', async () => {
    const { args, db, folder } = place(['plugins: {dynamic: [lost.so]}']);
    const text = `stub.yaml:8:21: ${folder}/lost.so: file not found`;
    expect(await bench(args)).toEqual(refusal(`bench: ${folder}/${text}\n`));
    const plan = await bench(['plan', args[1] ?? '', '--tensorrt', '10.6', '--db', db]);
    expect([plan.code, plan.stdout + plan.stderr]).toEqual([0, expect.stringContaining(text)]);
  });
});

describe('what loading takes', () => {
  test('seconds and memory are metrics, side by side for each word', async () => {
    const { args, db } = place(['seed: 1']);
    const axes = join(args[1] ?? '', '..', 'axes.yaml');
    const words = '{batch: 8, loader: [default, async], allocationStrategy: [static, profile, runtime]}';
    writeFileSync(axes, `extends: stub.yaml\nname: axes\naxes: ${words}\n`);
    expect((await bench(['run', axes, ...args.slice(2)], { env: { ...NEWEST, STUB_LOAD_S: '0.5' } })).code).toBe(0);
    const [head = '', ...rows] = (await bench(['report', '--csv', '-', '--db', db])).stdout.trim().split('\n');
    const names = head.split(',');
    const of = (row: string, name: string) => row.split(',')[names.indexOf(name)];
    const seen = new Set(rows.map((row) => [of(row, 'contextMib'), of(row, 'loadS')].join(' ')));
    expect([...seen].toSorted()).toEqual(['1.5 0.25', '1.5 0.5', '6 0.25', '6 0.5', '8 0.25', '8 0.5']);
    const trend = await bench(['trend', 'loader=async', '--metric', 'loadS', '--json', '--db', db]);
    expect(trend.stdout.match(/"value": 0\.25/g)).toHaveLength(6);
    const pareto = await bench(['choose', '--db', db], { env: { COLUMNS: '160' } });
    expect(pareto.stdout).toContain('allocationStrategy=runtime');
    expect(pareto.stdout).toMatch(/context MiB +build s +load s/);
  }, 60_000);

  test('a refittable engine is refitted from its model, and its refit is timed', async () => {
    const { args, db, folder } = place(['']);
    const axes = join(folder, 'axes.yaml');
    writeFileSync(axes, 'extends: stub.yaml\nname: axes\naxes: {batch: 8, weights: [full, stripped, refittable]}\n');
    expect((await bench(['run', axes, ...args.slice(2)], { env: { ...NEWEST, STUB_LOAD_S: '0.5' } })).code).toBe(0);
    const argv = queryStore(db, `SELECT DISTINCT argv FROM invocations WHERE argv LIKE '%--refitFromOnnx%'`);
    expect(argv).toHaveLength(2);
    expect(JSON.stringify(argv)).toContain(`--refitFromOnnx=${folder}/model.onnx`);
    const trend = await bench(['trend', '--metric', 'refitMs', '--json', '--db', db]);
    const pareto = await bench(['choose', '--db', db], { env: { COLUMNS: '160' } });
    expect(pareto.stdout).toMatch(/build s +load s +refit ms/);
    expect(trend.stdout.match(/"value":\s*2\.5/g)?.length ?? 0).toBeGreaterThan(0);
  }, 60_000);
});

test.each([
  ['build: {flags: {--markDebug: conv1}, opt: {batch: 8}}', '--markDebug'],
  ['run: {flags: {--saveAllDebugTensors: summary}}', '--saveAllDebugTensors'],
])('debug tensors: with %s runs are no measurement, and their sweep no baseline', async (setting, flag) => {
  const { args, db } = place([]);
  const debug = join(args[1] ?? '', '..', 'debug.yaml');
  writeFileSync(debug, `extends: stub.yaml\nname: debug\n${setting}\n`);
  expect((await bench(['run', debug, ...args.slice(2)], { env: NEWEST })).code).toBe(4);
  const outcomes = queryStore(db, `SELECT DISTINCT outcome, reason FROM runs WHERE role = 'timed'`);
  expect(outcomes).toEqual([{ outcome: 'unfit', reason: 'debugTensors' }]);
  const evidence = `${flag}: layers around marked tensors are not fused, saved ones are copied out while it runs`;
  const flagged = [{ flag: 'debugTensors', effect: 'excluded', evidence }];
  expect(queryStore(db, 'SELECT DISTINCT flag, effect, evidence FROM run_flags')).toEqual(flagged);
  const text = /bench: sweep [\da-f]{8} cannot be a baseline: no run that counts/;
  expect(await bench(['baseline', 'set', 'v1', '--db', db])).toEqual(refusal(text));
});

test('what people say of a model: stands with every build and run of it, in the order of model and file, and is no part of a cell', async () => {
  const { args, db, folder } = place(['']);
  const noted = join(folder, 'noted.yaml');
  writeFileSync(
    noted,
    `extends: stub.yaml
models:
  small:
    note: >-
      PTQ with a wildcard config:
      q, k, v in E4M3
    precisions: {fp16: {onnx: model.onnx, note: weights of 3 March}}
`,
  );
  expect((await bench(args)).code).toBe(0);
  const cells = queryStore(db, 'SELECT cell_key FROM cells ORDER BY 1');
  const engines = `SELECT count(*) AS builds FROM runs WHERE role = 'build'`;
  const builds = queryStore(db, engines);
  expect((await bench(['run', noted, ...args.slice(2)])).code).toBe(0);
  expect([queryStore(db, 'SELECT cell_key FROM cells ORDER BY 1'), queryStore(db, engines)]).toEqual([cells, builds]);
  expect(queryStore(db, `SELECT notes, count(*) AS runs FROM runs GROUP BY 1 ORDER BY 1`)).toEqual([
    { notes: JSON.stringify(['PTQ with a wildcard config: q, k, v in E4M3', 'weights of 3 March']), runs: 4 },
    { notes: '[]', runs: 5 },
  ]);
  const id = firstId(db, `SELECT run_id AS id FROM runs WHERE notes <> '[]'`);
  expect((await bench(['show', id, '--db', db])).stdout).toContain('weights of 3 March');
}, 60_000);

test('profilingVerbosity: none: is another engine without layers; nothing is profiled, and that is said', async () => {
  const { args, db, folder } = place(['']);
  const axes = join(folder, 'axes.yaml');
  writeFileSync(axes, 'extends: stub.yaml\nname: axes\naxes: {batch: 8, profilingVerbosity: [detailed, none]}\n');
  const { code, stderr } = await bench(['run', axes, '--profile', ...args.slice(2)]);
  expect(code).toBe(0);
  expect(stderr).toContain('note: 1 cell has profilingVerbosity none: no layer has a name, so none is profiled');
  const runs = `SELECT role, argv, count(*) AS runs FROM runs JOIN invocations USING (invocation_id)
      WHERE argv LIKE '%profilingVerbosity=none%' GROUP BY 1 ORDER BY 1`;
  const found = queryStore<{ role: string; argv: string; runs: number }>(db, runs);
  expect(found.map(({ role, runs: times }) => [role, times])).toEqual([
    ['build', 1],
    ['timed', 2],
  ]);
  expect(found[0]?.argv).not.toContain('--exportLayerInfo');
  expect(queryStore(db, `SELECT role FROM runs WHERE role = 'profile'`)).toHaveLength(1);
  const id = firstId(db, 'SELECT sweep_id AS id FROM sweeps');
  const shown = await bench(['show', id, '--db', db], { env: { COLUMNS: '160' } });
  expect(shown.stdout).toContain('profilingVerbosity=none');
}, 60_000);
