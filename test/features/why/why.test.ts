import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS, jsonOf, benchJson } from '../../support/outputs.ts';
import { bench, ROOT, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { FIXTURES, GUIDE } from '../../support/recordings.ts';
import { simulatedStore, storeIn } from '../../support/made-stores.ts';
import { simulatedCells } from '../../support/simulated-store.ts';
import { change } from '../../support/store-dump.ts';

const PAIRS = join(FIXTURES, 'pairs', 'vit_small.fp16');

function nightOf(cell: string): string {
  return cell.startsWith('resnet')
    ? join(FIXTURES, 'nights', '1', cell)
    : join(ROOT, 'recordings', 'night1', `nights_1_${cell}`);
}

async function why(...args: readonly string[]) {
  const { code, json, stderr } = await benchJson(OUTPUTS.why, ['why', ...args]);
  expect([code, stderr]).toEqual([0, '']);
  return json;
}

describe('what the recordings are known to be', () => {
  test.each(['vit_small.fp8.b1.graph1'])('%s beside another process on the GPU: contended', async (cell) => {
    const { causes, notes, outcome } = await why(nightOf(cell), join(FIXTURES, 'gpu-contended', cell));
    expect(outcome).toBe('explained');
    const [note = '', ...others] = notes;
    expect(note).toMatch(/^head has no valid run: contended: \d.* % of the queries/);
    const evidence = note.split('contended: ')[1] ?? '';
    expect(others.filter((other) => other.includes(evidence))).toEqual([]);
    expect(others.at(-1)).toBe('one run per side: single runs with a CUDA graph differ by up to 1 % by chance');
    expect(causes[0]).toMatchObject({ kind: 'contention', certainty: 'shown' });
  });

  test('a host without CPUs, graph on: not the engine', async () => {
    const cell = 'resnet_small.fp16.b8.graph1';
    const { causes, metric, changes } = await why(nightOf(cell), join(FIXTURES, 'cpu-contended', cell));
    expect([metric, causes[0]]).toMatchObject(['throughputQps', { kind: 'hostBound', certainty: 'shown' }]);
    expect(changes.find((one) => one.metric === 'gpuComputeMs')?.isReal).toBe(false);
    expect(changes.find((one) => one.metric === 'throughputQps')?.changePercent).toBeLessThan(-33);
  });

  test('the same engine on another night: no difference', async () => {
    const night2 = join(ROOT, 'recordings', 'night2', 'nights_2_vit_small.fp8.b32.graph0');
    const { outcome, causes } = await why(nightOf('vit_small.fp8.b32.graph0'), night2);
    expect([outcome, causes]).toEqual(['noDifference', []]);
  });
});

test('the profile of another cell shows nothing of this one: possible, and of which cell', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const runs = (end: string): string[] =>
    ['01', '02', '03'].map((nth) => join(PAIRS, 'opt32', 'b1.graph1', `${nth}-${end}`));
  for (const [name, paths] of [
    ['normal', [join(PAIRS, 'normal'), ...runs('normal')]],
    ['opt32', [join(PAIRS, 'opt32', 'build'), join(PAIRS, 'opt32', 'profile'), ...runs('opt32')]],
  ] as const) {
    await bench(['import', ...paths, '--sweep', name, '--db', db]);
  }
  const { causes, changes } = await why('batch=1', 'normal', 'opt32', '--db', db);
  expect(changes[0]?.changePercent).toBeCloseTo(25.5, 0);
  expect(causes.map(({ kind, certainty }) => `${kind} ${certainty}`)).toEqual(['options possible', 'tactics possible']);
  expect(causes[1]).toMatchObject({ explainsPercent: null });
  const of = 'vit_small fp16 8x3x224x224 graph transfers';
  expect(causes[1]?.title).toContain(`(by the profile of ${of})`);
  expect(causes[1]?.evidence[0]).toBe(`this cell has no profile on both sides: seen in ${of}`);
  const { stdout } = await bench(['compare', 'normal', 'opt32', '--db', db]);
  expect(stdout).toContain('options changed');
  expect(stdout).not.toContain('(shown');
  const oneRun = await bench(['layers', '--diff', 'batch=1', 'batch=8', '--db', db]);
  expect(oneRun.stderr).toMatch(/^bench: both sides are the layers of run [0-9a-f]{8}: /);
  // The layers of another engine show nothing at all.
  const other = join(temporaryFolder(), 'bench.sqlite');
  await bench(['import', join(PAIRS, 'normal'), ...runs('opt32'), '--db', other]);
  expect((await bench(['layers', 'batch=1', '--db', other])).stderr).toContain('no layer times are stored');
});

describe('stored sweeps', () => {
  const db = join(sharedFolder(), 'bench.sqlite');

  beforeAll(async () => {
    const runs = (variant: string, of: string, end: string): string[] =>
      ['01', '02', '03', '04', '05'].map((nth) => join(PAIRS, variant, of, `${nth}-${end}`));
    const profile = (model: string): string => join(FIXTURES, 'nights', '1-profile', model);
    const level2 = ['build', 'profile'].map((part) => join(PAIRS, 'level2', part));
    const cells = ['vit_small.fp16.b8', 'vit_small.fp8.b8'];
    for (const [name, paths] of [
      ['normal', [join(PAIRS, 'normal'), ...runs('level2', 'b8.graph1', 'normal')]],
      ['level2', [...level2, ...runs('level2', 'b8.graph1', 'level2')]],
      ['night1', cells.flatMap((cell) => [nightOf(`${cell}.graph1`), profile(cell)])],
    ] as const) {
      const { code, stderr } = await bench(['import', ...paths, '--sweep', name, '--db', db]);
      if (code !== 0) throw new Error(stderr);
    }
  }, 60_000);

  test('level2: one layer with another tactic, and the option that made it so', async () => {
    const { causes, layers, metric } = await why('batch=8', 'normal', 'level2', '--db', db);
    // With it all 26 that `bench layers --diff` finds, by cost.
    const expected = ['+0.001186 ms blocks.*.mlp.fc2', '+0.000096 ms head.fc/Gemm', '-0.000514 ms blocks.*.attn.qkv'];
    expect([layers.map((layer) => layer.split(':')[0]), metric]).toEqual([expected, 'gpuComputeMs']);
    const title = 'other tactics in 1 layer: patch_embed/Conv';
    expect(causes[0]).toMatchObject({ kind: 'tactics', certainty: 'shown', title });
    expect(causes[0]?.explainsPercent).toBeGreaterThan(80);
    expect(causes[0]?.evidence).toEqual([
      'the engine was built from other inputs: build: no flag → --builderOptimizationLevel=2',
      '+0.008962 ms patch_embed/Conv: tile 128x16x64 → 128x32x64',
    ]);
    expect(causes.map(({ kind }) => kind)).toEqual(['tactics', 'options']);
  });

  test('FP8 is slower here because the fused attention was lost', async () => {
    const cell = 'model=vit_small & batch=8 & cudaGraph=on';
    const { causes, changes } = await why(cell, 'precision=fp16', 'precision=fp8', '--db', db);
    expect((await bench([...(causes[0]?.confirm ?? '').split(' ').slice(1), '--db', db])).code).toBe(0);
    expect((await why('batch=8 & fp16', 'fp8', '--db', db)).changes).toEqual(changes);
    expect(changes[0]?.changePercent).toBeCloseTo(96.05, 1);
    expect(causes[0]).toMatchObject({ kind: 'fusion', title: 'fused attention _gemm_mha_v2 was lost (12 times)' });
    expect(causes[0]?.evidence[0]).toMatch(/^\+0\.4317 ms blocks\.\*\.attn: AV, QK, Scale, Softmax x48/);
  });

  test('--agg sums a selection up: count, total, share, least, mean, largest', async () => {
    const select = ['--select', 'blocks\\.\\d+\\.attn/Softmax', '--regex'];
    const args = ['layers', 'batch=8', '--at', 'level2', '--db', db];
    const one = await jsonOf(OUTPUTS.layers, [...args, ...select, '--agg']);
    const all = await jsonOf(OUTPUTS.layers, [...args]);
    const isSoftmax = (origin: string): boolean => /blocks\.\d+\.attn\/Softmax/.test(origin);
    const softmax = all.layers.filter(({ origins }) => origins.some(isSoftmax));
    const times = softmax.map(({ averageMs }) => averageMs);
    const totalMs = times.reduce((sum, time) => sum + time, 0);
    expect(times).toHaveLength(12);
    expect(one.aggregate).toEqual({
      layers: 12,
      totalMs: expect.closeTo(totalMs, 12),
      sharePercent: expect.closeTo((100 * totalMs) / (all.totalMs ?? 0), 10),
      minMs: Math.min(...times),
      meanMs: expect.closeTo(totalMs / 12, 12),
      maxMs: Math.max(...times),
    });
    expect(all.aggregate).toBeNull();
    const { stdout } = await bench([...args, ...select, '--agg']);
    expect(stdout).toMatch(/^ *0\.\d+ ms +\d+\.\d % +12 +0\.\d+ +0\.\d+ +0\.\d+ +all selected layers$/m);
  });

  test.each([
    [['why', 'normal', 'level2'], 'bench: which cell? bench why CELL normal level2; see `bench ls cells`'],
    [['why', 'nothing', 'normal', 'level2'], 'bench: no cell nothing (see `bench ls cells`)'],
    [['why', 'a40520f1'], 'bench: no cell a40520f1 (see `bench ls cells`)'],
    [['layers'], 'bench: name a cell, a run, or a folder with profile.json: bench layers CELL'],
    [['layers', 'batch=8', '--diff', 'normal'], 'bench: --diff takes two sides'],
    [['layers', 'batch=8', '--at', 'normal', '--select', 'nope'], 'bench: --select nope: none of the 141 layers'],
    [
      ['layers', 'batch=8', '--at', 'normal', '--select', 'a(', '--regex'],
      'bench: --select a(: not a regular expression',
    ],
    [['layers', 'batch=8', '--at', 'normal', '--agg', '--group-by', 'type'], 'bench: --agg sums all chosen layers up'],
  ])('%j is one clear line', async (args, line) => {
    expect(await bench([...args, '--db', db])).toEqual(refusal(line));
  });
});

describe('layers of files', () => {
  test("the guide's two schemas side by side: the same attention, another precision", async () => {
    const sides = ['listing-27-layer-info.json', 'listing-24-layer-info.log'].map((name) => join(GUIDE, name));
    const { code, json } = await benchJson(OUTPUTS['layers-diff'], ['layers', '--diff', ...sides]);
    expect(code).toBe(0);
    expect(json.rows).toMatchObject([
      { change: 'precision', baseLayers: 1, headLayers: 1 },
      { change: 'new', baseLayers: 0, headLayers: 1 },
    ]);
  });

  test('AT-9: FP16 attention of a trace beside FP8 attention of a profile: 2.02 times, by another harness', async () => {
    const sides = ['listing-31-trace.json', 'listing-25-profile.log'].map((name) => join(GUIDE, name));
    const args = ['layers', '--diff', ...sides, '--runs', '100'];
    const { base, deltaMs, head, unknown } = await jsonOf(OUTPUTS['layers-diff'], [...args]);
    expect(base.notes).toEqual(['from a trace, not from trtexec']);
    expect(unknown?.parts).toMatchObject([{ base: ['_gemm_mha_v2_myl0_90'], head: ['_gemm_mha_v2_myl0_153'] }]);
    // The log lists 2 layers of 29.09 ms: their sum is no time of a query.
    expect([deltaMs, head.totalMs, head.listedMs]).toEqual([null, 29.0892, expect.closeTo(0.3449, 9)]);
    const text = (await bench(args)).stdout.replaceAll(/\s+/g, ' ');
    expect(text).toContain('1 not known (only some layers are listed, so the change per query is unknown)');
    expect(text).toContain('head 0.3449 ms in 2 layers of 29.09 ms in all');
    expect(text).toContain('_gemm_mha_v2: 0.2088 → 0.1036 ms, 2.02x as fast, by its name alone');
    const turned = (await bench(['layers', '--diff', ...sides.toReversed(), '--runs', '100'])).stdout;
    expect(turned).toContain('_gemm_mha_v2: 0.1036 → 0.2088 ms, 2.02x as long, by its name alone');
  });
});

test('two cells are compared by their newest profiles, whatever their sweeps, and by their runs', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  for (const run of ['1-profile_vit_small.fp16.b8', '1-profile_vit_small.fp8.b8', '2_vit_small.fp16.b8.graph1']) {
    const path = join(ROOT, 'recordings', `night${run[0]}`, `nights_${run}`);
    await bench(['import', path, '--sweep', run, '--db', db]);
  }
  const diff = (...sides: string[]) => jsonOf(OUTPUTS['layers-diff'], ['layers', '--diff', ...sides, '--db', db]);
  const { base, head, deltaMs } = await diff('precision=fp16', 'precision=fp8');
  expect([base.layers, head.layers, deltaMs]).toEqual([141, 190, expect.closeTo(0.5608, 4)]);
  expect(await diff(base.runId, head.runId)).toMatchObject({ deltaMs });
});

describe('imports that differ in what the engine was tuned for', () => {
  const SUMMARY = readFileSync(join(GUIDE, 'listing-06-fp16-summary.log'), 'utf8');
  const SLOWER = SUMMARY.replace('Throughput: 19.2498', 'Throughput: 17.4998').replaceAll(/\d+\.\d+(?= m?s)/g, (time) =>
    (Number(time) * 1.1).toFixed(4),
  );
  const CELL = ['--model', 'vit', '--precision', 'fp16', '--shapes', 'input:8x3x224x224'];

  async function causeBetween(logs: readonly string[], options: (place: number) => readonly string[]) {
    const folder = temporaryFolder();
    const store = ['--db', join(folder, 'bench.sqlite')];
    for (const [place, text] of logs.entries()) {
      const log = join(folder, `${place}.log`);
      writeFileSync(log, text);
      await bench(['import', log, ...CELL, '--sweep', `opt${place}`, ...options(place), ...store]);
    }
    return (await why('vit', 'opt0', 'opt1', ...store)).causes.map(({ title }) => title);
  }

  test('as their notes say', async () => {
    const causes = await causeBetween([SUMMARY, SLOWER], (place) => ['--note', `opt=${[8, 32][place]}`]);
    expect(causes).toEqual(['options changed: notes of the imports: "opt=8" → "opt=32"']);
  });

  test('as their notes say, of reports that have latencies alone', async () => {
    const report = readFileSync(join(GUIDE, 'listing-14-torch-fp8-b128.txt'), 'utf8');
    const slower = report.replaceAll(/\d+\.\d+/g, (ms) => (Number(ms) * 1.1).toFixed(2));
    const graph = ['--cuda-graph', 'off'];
    const causes = await causeBetween([report, slower], (place) => [...graph, '--note', `opt=${[8, 32][place]}`]);
    expect(causes).toEqual(['options changed: notes of the imports: "opt=8" → "opt=32"']);
  });

  test('as their command lines say, where each built its own engine', async () => {
    const command = (opt: number): string =>
      `&&&& RUNNING TensorRT.trtexec [TensorRT v100600] [b26] # trtexec --onnx=vit.onnx --optShapes=input:${opt}x3x224x224 --shapes=input:8x3x224x224\n`;
    const causes = await causeBetween([command(8) + SUMMARY, command(32) + SLOWER], () => []);
    expect(causes).toEqual(['options changed: build: --optShapes=input:8x3x224x224 → --optShapes=input:32x3x224x224']);
  });
});

test('two expressions are two cells; those of one that matches several are listed', async () => {
  const db = simulatedStore({ cells: simulatedCells(4), nights: 1, repeats: 1, value: () => 1 });
  const line = "fp16 is 2 cells: name one, as in 'vit fp16 b1', 'vit fp16 b3'";
  expect(await bench(['why', 'fp16', 'fp8', '--db', db])).toEqual(refusal(line));
});

describe('an open finding', () => {
  const folder = sharedFolder();
  let id = '';

  const here = (...args: readonly string[]) => bench([...args, '--db', join(folder, 'bench.sqlite')], { cwd: folder });

  async function explained(...args: readonly string[]) {
    const { json, stderr } = await benchJson(OUTPUTS.why, ['why', ...args], { cwd: folder });
    return { stderr, sides: [json.base, json.head].map(({ label, sweepIds }) => ({ label, sweepIds })) };
  }

  beforeAll(async () => await storeIn(folder, 'pairs'), 60_000);

  test('without a cell and an open finding, two sides are not enough', async () => {
    const text = 'bench: which cell? bench why CELL latest~1 latest; see `bench ls cells`\n';
    expect(await here('why', 'latest~1', 'latest')).toEqual(refusal(text));
  });

  test('without a cell the only open finding is meant, with its sides or others', async () => {
    id = (await jsonOf(OUTPUTS.check, ['check'], { cwd: folder })).findings[0]?.id ?? '';
    const { sides } = await explained(id);
    const expected = ['vit_small fp16 1x3x224x224 graph transfers', 'vit_small fp16 1x3x224x224 graph transfers'];
    expect(sides.map(({ label }) => label)).toEqual(expected);
    const note = `note: the only open finding: ${id.slice(0, 8)}\n`;
    expect(await explained()).toEqual({ sides, stderr: note });
    expect(await explained('latest~1', 'latest')).toEqual({ sides, stderr: note });
  });

  test('one that is acknowledged is not open', async () => {
    await here('ack', id, '--reason', 'wanted');
    expect((await here('why')).stderr).toContain('there are 2 cells: name one');
  });

  test('layers --diff says that the machines differ', async () => {
    change(
      join(folder, 'bench.sqlite'),
      `CREATE TEMP TABLE other AS SELECT * FROM environments LIMIT 1;
       UPDATE other SET environment_id = 'other', gpu_name = 'NVIDIA H100'; INSERT INTO environments SELECT * FROM other;
       UPDATE runs SET environment_id = 'other' WHERE sweep_id = (SELECT sweep_id FROM sweeps ORDER BY started_at DESC)`,
    );
    const { stdout } = await here('layers', 'b8', '--diff', 'latest~1', 'latest');
    expect(stdout).toContain('note: GPU NVIDIA H200 → NVIDIA H100\n');
  });

  test.each([
    [['why', 'b8', 'latest'], 'name two sides, or none: bench why CELL BASE HEAD'],
    [['layers', '--diff', 'latest~1', 'latest', 'b8'], 'after the cell: bench layers CELL --diff BASE HEAD'],
    [['layers', 'b8', 'latest~1', 'latest'], '(usage: bench layers [options] [what] [--diff BASE HEAD])'],
    [['compare', 'b8', 'latest~1', 'latest'], '(usage: bench compare [options] [base] [head])'],
  ])('%j: the line says the order of words', async (args, order) => {
    expect(await here(...args)).toEqual(refusal(order));
  });
});
