import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { beforeAll, describe, expect, test } from 'vitest';

import { pairsOf } from '../../../src/features/compare/compare-across-methods.ts';
import { TORCH_CELL } from '../../../src/harnesses/torch-tensorrt.ts';
import { imageCell } from '../../support/image-cell.ts';
import { bench, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { GUIDE } from '../../support/recordings.ts';
import { queryStore } from '../../support/store-dump.ts';
import { OUTPUTS, benchJson, jsonOf } from '../../support/outputs.ts';

const TORCH = {
  fp16: join(GUIDE, 'listing-10-torch-fp16-b128.txt'),
  fp8: join(GUIDE, 'listing-14-torch-fp8-b128.txt'),
  fp16b256: join(GUIDE, 'listing-16-torch-fp16-b256.txt'),
  fp8b256: join(GUIDE, 'listing-17-torch-fp8-b256.txt'),
  fp16Graph: join(GUIDE, 'listing-19-torch-fp16-graph.txt'),
  fp8Graph: join(GUIDE, 'listing-20-torch-fp8-graph.txt'),
};
const PASSED = '&&&& PASSED TensorRT.trtexec [TensorRT v100600]\n';
const TRACE = join(GUIDE, 'listing-31-trace.json');
const VIT = ['--model', 'vit_large', '--shapes', 'input:128x3x224x224'];

const newStore = (): string => join(temporaryFolder(), 'bench.sqlite');

async function take(db: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await finishedImport(db, ...args);
  expect(stderr).toBe('');
  return stdout;
}

async function finishedImport(db: string, ...args: string[]) {
  const finished = await bench(['import', ...args, '--db', db]);
  expect(finished.code).toBe(0);
  return finished;
}

/** The listings of the guide, each a run of its own, in one sweep. */
async function takeGuide(db: string): Promise<void> {
  await take(db, TORCH.fp16, '--sweep', 'guide', ...VIT, '--precision', 'fp16', '--cuda-graph', 'off');
  const into = ['--into', 'guide', ...VIT];
  await take(db, TORCH.fp8, ...into, '--precision', 'fp8', '--cuda-graph', 'off');
  await take(db, TORCH.fp16b256, TORCH.fp8b256, ...into, '--cuda-graph', 'off');
  await take(db, TORCH.fp16Graph, TORCH.fp8Graph, ...into, '--cuda-graph', 'on');
}

describe("the guide's Torch-TensorRT listings", () => {
  let db = '';
  beforeAll(async () => {
    db = join(sharedFolder(), 'bench.sqlite');
    await takeGuide(db);
  });

  test('AT-10: a CUDA graph changes the medians by -0.42 % and +0.26 %, without a verdict', async () => {
    const { code, json } = await benchJson(OUTPUTS.run, ['show', 'guide', '--db', db]);
    expect(code).toBe(0);
    const assumed = ['noise assumed to be 1 %, because it is unknown', 'detectable from 7.7 %'];
    const why = { verdict: 'unclear', reasons: ['no verdict: one run per side', ...assumed] };
    expect(json.graphGains?.pairs).toMatchObject([why, why]);
    const changes = json.graphGains?.pairs.map(({ latencyChangePercent }) => latencyChangePercent?.toFixed(2));
    expect(changes).toEqual(['-0.42', '0.26']);
    const evidence = 'the largest of 100 times, 56.35 ms, is 4.1 % over p99, 54.11 ms';
    expect(json.cells.flatMap(({ flags }) => flags)).toMatchObject([
      { id: 'loneOutlier', effect: 'explained', evidence },
    ]);
  });

  test('AT-11: speed-ups of 1.742 and 1.705, items a second, -6.5 % and -8.4 % an item', async () => {
    const args = ['choose', '--at', 'guide', '--filter', 'cudaGraph=off', '--db', db];
    const { workloads, scaling } = await jsonOf(OUTPUTS.pareto, args);
    const rows = workloads.flat().map(({ label, itemsPerS, throughputFrom, speedUp }) => {
      const faster = speedUp === null ? '' : ` ${speedUp.ratio.toFixed(3)} ${speedUp.verdict}`;
      return `${label} ${itemsPerS?.toFixed(1)} ${throughputFrom}${faster}`;
    });
    const by = (label: string, said: string): string => `vit_large ${label} by torch-tensorrt ${said}`;
    expect(rows).toEqual([
      by('fp16 128x3x224x224', '2362.5 medianLatency'),
      by('fp8 128x3x224x224', '4114.4 medianLatency 1.742 unclear'),
      by('fp16 256x3x224x224', '2209.4 medianLatency'),
      by('fp8 256x3x224x224', '3766.9 medianLatency 1.705 unclear'),
    ]);
    const step = { fromBatch: 128, toBatch: 256 };
    expect(scaling).toMatchObject([step, step]);
    const changes = scaling.map(({ itemsPerSChangePercent }) => itemsPerSChangePercent.toFixed(1));
    expect(changes).toEqual(['-6.5', '-8.4']);
  });

  test('AT-12: medians of trtexec and of the Torch harness only with --across-methods, differences first', async () => {
    const store = newStore();
    const said = ['--shapes', 'input:128x3x224x224', '--model', 'vit_large'];
    const logs = [
      ['fp16', 'listing-06-fp16-summary.log', TORCH.fp16],
      ['fp8', 'listing-11-fp8-summary.log', TORCH.fp8],
    ];
    for (const [place, [precision = '', log = '', report = '']] of logs.entries()) {
      const stated = [...said, '--precision', precision];
      const sweep = (name: string): string[] => [place === 0 ? '--sweep' : '--into', name];
      const versioned = join(dirname(store), log);
      writeFileSync(versioned, `${readFileSync(join(GUIDE, log), 'utf8')}${PASSED}`);
      await take(store, versioned, ...sweep('trtexec'), ...stated);
      await take(store, report, ...sweep('torch'), ...stated, '--cuda-graph', 'off');
    }
    const plain = await bench(['compare', 'trtexec', 'torch', '--json', '--db', store]);
    expect(JSON.parse(plain.stdout)).toMatchObject({ counts: { missing: 4, slower: 0, unclear: 0 }, otherMethods: 2 });
    const requested = ['compare', 'trtexec', 'torch', '--across-methods', '--db', store];
    const { across, cells } = await jsonOf(OUTPUTS.compare, requested);
    expect([...across.slice(0, 4), across.at(-1)]).toEqual([
      'harness: trtexec 10.6.0 against torch-tensorrt',
      expect.stringMatching(/^timer: CUDA events against /),
      'in flight: 2 against 1',
      'percentiles: one of the measured times against interpolated between two times',
      'TensorRT 10.6.0 → unknown',
    ]);
    const reported = cells.map(({ base, changePercent, head, metric, verdict }) =>
      [metric, base?.toFixed(2), head?.toFixed(2), changePercent?.toFixed(1), verdict].join(' '),
    );
    expect(reported.toSorted()).toEqual(['latencyMs 28.90 31.11 7.6 unclear', 'latencyMs 51.98 54.18 4.2 unclear']);
    const { code, stdout } = await bench(requested);
    expect([code, stdout.indexOf('compared anyway: harness')]).toEqual([0, 0]);
    const vit = { model: 'vit', precision: 'fp16', batch: 8 } as const;
    const [three, one] = [imageCell({ ...vit, streams: 3 }), imageCell(vit)];
    const torch = imageCell({ ...vit, harness: TORCH_CELL });
    const side = { runs: [], provenances: new Set<never>() };
    const base = { ...side, planned: new Set([three.key, one.key]) };
    const head = { ...side, planned: new Set([torch.key]) };
    expect(pairsOf([three, one, torch], { base, head })).toEqual([{ base: one, head: torch }]);
  });

  test('how the numbers were taken is stored, and that they are imported', () => {
    const columns = 'm.timer, m.percentile_rule, m.timed_runs, m.in_flight, m.warm_up_runs, r.provenance, r.role';
    const sql = `SELECT DISTINCT m.harness, ${columns} FROM run_methods m JOIN runs r USING (run_id)`;
    const unknown = { timer: 'unknown', warm_up_runs: null };
    const counted = { percentile_rule: 'linear', timed_runs: 100, in_flight: 1 };
    const run = { provenance: 'imported', role: 'timed' };
    expect(queryStore(db, sql)).toEqual([{ harness: 'torch-tensorrt', ...unknown, ...counted, ...run }]);
  });
});

describe('what a report does not say', () => {
  test('is asked for, by option, and nothing is stored', async () => {
    const text = `bench: ${TORCH.fp16} does not state its precision, nor its shapes, nor whether it used a CUDA graph; add --precision NAME --shapes input:8x3x224x224 --cuda-graph on|off\n`;
    expect(await bench(['import', TORCH.fp16, '--model', 'vit', '--db', newStore()])).toEqual(refusal(text));
  });

  test('one file of several that lacks something keeps all of them out', async () => {
    const db = newStore();
    const args = ['import', TORCH.fp16b256, TORCH.fp16, '--model', 'vit', '--cuda-graph', 'off'];
    expect(await bench([...args, '--db', db])).toMatchObject({ code: 2 });
    expect((await bench(['ls', 'sweeps', '--json', '--db', db])).stdout).not.toContain('"import"');
  });

  test('what it does say goes before the options, not without a word', async () => {
    const db = newStore();
    const { stderr } = await finishedImport(db, TORCH.fp16b256, '--precision', 'fp8', ...VIT, '--cuda-graph', 'off');
    expect(stderr).toBe(`note: ${TORCH.fp16b256}: --precision NAME has no effect: it states its precision\n`);
    expect(queryStore(db, 'SELECT precision, shapes, cuda_graph FROM cells')).toEqual([
      { precision: 'fp16', shapes: '{"input":[256,3,224,224]}', cuda_graph: 0 },
    ]);
  });
});

test('items a second of a log without its options follow from the shapes that are stated', async () => {
  const db = newStore();
  for (const [name, sweep] of [
    ['listing-06-fp16-summary.log', 'a'],
    ['listing-11-fp8-summary.log', 'b'],
  ] as const)
    await finishedImport(db, join(GUIDE, name), ...VIT, '--precision', 'fp16', '--sweep', sweep);
  const { json } = await benchJson(OUTPUTS.compare, ['compare', 'a', 'b', '--metric', 'items', '--db', db]);
  expect(json.cells.map(({ base, head }) => [base, head].map((value) => Math.round(value ?? 0)))).toEqual([
    [2464, 4432],
  ]);
});

test('a folder: with reports and logs of trtexec needs no --as', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'torch'));
  writeFileSync(join(folder, 'torch', 'b256.txt.gz'), gzipSync(readFileSync(TORCH.fp16b256)));
  copyFileSync(join(GUIDE, 'listing-06-fp16-summary.log'), join(folder, 'trtexec.log'));
  writeFileSync(join(folder, 'notes.txt'), 'nothing of the kind');
  writeFileSync(join(folder, 'other.json'), '{"a": 1}');
  const db = newStore();
  const { stderr } = await finishedImport(db, folder, '--model', 'vit', '--cuda-graph', 'off');
  expect(stderr).toBe(`note: ${folder}: 1 file left out: not of trtexec\n`);
  const rows = queryStore(db, "SELECT coalesce(harness ->> 'name', 'trtexec') AS name FROM cells ORDER BY name");
  expect(rows).toEqual([{ name: 'torch-tensorrt' }, { name: 'trtexec' }]);
});

test.each([
  ['a harness that nobody knows', ['--as', 'torch-tensort'], /--as torch-tensort.*torch-tensorrt/],
  ['a sweep that is not there', ['--into', 'nowhere'], /--into nowhere: no imported sweep has this name/],
  ['a harness that is run', ['--as', 'google-benchmark'], /no results of google-benchmark that bench imports/],
  ['two sweeps', ['--into', 'a', '--sweep', 'b'], /--sweep names a new sweep, --into an existing one/],
  ['a switch that is none', ['--cuda-graph', 'maybe'], /must be on or off/],
])('one clear line for: %s', async (_name, options, problem) => {
  const args = [TORCH.fp16b256, '--model', 'vit', '--cuda-graph', 'off', ...options];
  expect(await bench(['import', ...args, '--db', newStore()])).toEqual(refusal(problem));
});

describe('layers that lie alone', () => {
  test('AT-8: a trace needs the number of its runs', async () => {
    const text = `bench: ${TRACE}: its times are summed over all runs, and it does not say how many: add --runs N\n`;
    expect(await bench(['layers', TRACE])).toEqual(refusal(text));
    expect(await bench(['import', TRACE, ...VIT, '--db', newStore()])).toEqual(refusal(text));
    const { layers } = JSON.parse((await bench(['layers', TRACE, '--runs', '100', '--json'])).stdout);
    expect(layers).toHaveLength(1);
    expect(layers[0].averageMs.toFixed(4)).toBe('0.2088');
  });

  test('AT-8: an imported trace is a profile of the cell that it is said to be of', async () => {
    const db = newStore();
    const cell = [...VIT, '--precision', 'fp8', '--cuda-graph', 'off'];
    await take(db, TORCH.fp8, '--sweep', 'guide', ...cell);
    await take(db, TRACE, '--into', 'guide', ...cell, '--runs', '100');
    const shown = JSON.parse((await bench(['layers', 'vit_large', '--json', '--db', db])).stdout);
    expect(shown.layers[0].averageMs.toFixed(4)).toBe('0.2088');
    // A trace names no types: it says nothing of the precision.
    const pareto = await bench(['choose', '--at', 'guide', '--json', '--db', db]);
    expect(JSON.parse(pareto.stdout).workloads[0][0].realPrecisionShare).toBeNull();
    const rebuilt = newStore();
    await take(rebuilt, join(db, '..', 'artefacts'));
    const again = await bench(['layers', 'vit_large', '--json', '--db', rebuilt]);
    expect(JSON.parse(again.stdout).layers).toEqual(shown.layers);
  });

  test('the files of trt-engine-explorer say their cell themselves', async () => {
    const folder = temporaryFolder();
    const write = (ending: string, content: unknown): void =>
      writeFileSync(join(folder, `resnet.onnx.engine.${ending}`), JSON.stringify(content));
    // Made by hand, in the form of the examples of trt-engine-explorer.
    const tensor = { Name: 'x', Dimensions: [32, 3], 'Format/Datatype': 'Row major linear FP32' };
    const layer = { Name: 'conv', LayerType: 'CaskConvolution', Inputs: [tensor], Outputs: [] };
    write('graph.json', { Layers: [layer], Bindings: ['x'] });
    const profiled = { name: 'conv', timeMs: 25, averageMs: 0.25, medianMs: 0.24, percentage: 100 };
    write('profile.json', [{ count: 100 }, profiled]);
    const switches = { Streams: '1', 'CUDA Graph': 'Enabled', 'Spin-wait': 'Enabled', 'Data transfers': 'Disabled' };
    write('profile.metadata.json', {
      inference_options: { 'Input inference shape': 'x=32x3', ...switches },
      device_information: { 'Selected Device': 'NVIDIA A100 80GB PCIe' },
    });
    const db = newStore();
    await take(db, folder);
    expect(queryStore(db, 'SELECT model, precision, shapes, cuda_graph FROM cells')).toEqual([
      { model: 'resnet', precision: 'unstated', shapes: '{"x":[32,3]}', cuda_graph: 1 },
    ]);
    expect(queryStore(db, 'SELECT gpu_name FROM environments')).toEqual([{ gpu_name: 'NVIDIA A100 80GB PCIe' }]);
    expect(JSON.parse((await bench(['layers', 'resnet', '--json', '--db', db])).stdout).layers).toMatchObject([
      { name: 'conv', averageMs: 0.25, type: 'CaskConvolution', precisionIn: 'fp32' },
    ]);
  });
});

test('bench compare FILE FILE: of one harness: what one does not say is taken from the other, and said', async () => {
  const { code, stdout } = await bench(['compare', TORCH.fp16, TORCH.fp16Graph, '--json']);
  expect(code).toBe(0);
  const { cells, base, head } = JSON.parse(stdout);
  expect(cells).toHaveLength(1);
  expect(cells[0]).toMatchObject({ metric: 'latencyMs', verdict: 'unclear', runs: [1, 1] });
  expect(cells[0].changePercent.toFixed(2)).toBe('-0.42');
  const note = `${TORCH.fp16} does not state its precision: taken from ${TORCH.fp16Graph}`;
  expect([base.note, head.note]).toEqual([note, null]);
});
