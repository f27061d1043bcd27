import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { layerFactsOf } from '../../src/layers/layer-facts.ts';
import { summarizeLayers } from '../../src/layers/summarize-layers.ts';
import { bench, ROOT, temporaryFolder } from '../support/bench.ts';
import { FIXTURES, GUIDE } from '../support/recordings.ts';

const RESNET = join(FIXTURES, 'nights', '1-profile', 'resnet_small.fp8.b8');
let whole: Promise<string> | null = null;

async function layersOf(...args: readonly string[]): Promise<string> {
  const printed = async () => (await bench(['layers', RESNET, ...args], { env: { COLUMNS: '200' } })).stdout;
  return args.length > 0 ? printed() : (whole ??= printed());
}

test('what is no work of the network: copies between formats, Q/DQ nodes, casts, shapes', async () => {
  expect(await layersOf()).toContain(
    "in addition to the network's own work: copies between formats 0.00580 ms (1.6 %), Q/DQ layers 0.00669 ms (1.8 %), casts 0.00755 ms (2.1 %), shape work 0.00386 ms (1.1 %)",
  );
  const { stdout } = await bench(['layers', RESNET.replace('fp8', 'int8')], { env: { COLUMNS: '200' } });
  expect(stdout).toContain("network's own work: Q/DQ layers 0.01058 ms (5.1 %), shape work 0.00125 ms (0.61 %)");
});

test('large layers that were left in 16 bits are named', async () => {
  const text = await layersOf();
  expect(text).toContain('time by input type: fp8 66.3 %, fp16 30.6 %, fp32 2.1 %, unknown precision 1.1 %');
  expect(text).toContain('not quantized, and worth a look: layer*.*.conv2/Conv · fp16 0.04883 ms (13.4 %), 2 more');
});

test("channels that miss the tensor cores' multiples, with their share; three of an image are no such finding", async () => {
  const text = async (model: string) =>
    (await bench(['layers', join(FIXTURES, 'nights', '1-profile', model)], { env: { COLUMNS: '400' } })).stdout;
  expect(await text('vit_small.fp8.b8')).toContain(
    'of 16 in fp8 and int8; not so in 24 layers (28.1 % of the time): blocks.*.attn/AV · fp8 197 → 64, padded 208 → 64 (14.1 %); blocks.*.attn/QK · fp8 64 → 200, padded 64 → 208 (13.9 %)\n  pad these channels in the model',
  );
  expect(await text('resnet_small.fp8.b8')).not.toContain('tensor cores');
});

test('a convolution of NVIDIA/TensorRT#3876 misses the multiples without any time', async () => {
  const folder = temporaryFolder();
  const tensor = (channels: number) => ({
    Name: `t${channels}`,
    Dimensions: [1, channels, 160, 160],
    'Format/Datatype': 'Channel major FP16 format where channel % 8 == 0',
  });
  const layer = (name: string, from: number, to: number) => ({
    Name: name,
    LayerType: 'CaskConvolution',
    Inputs: [tensor(from)],
    Outputs: [tensor(to)],
  });
  const Layers = [layer('/stem/Conv', 3, 12), layer('/cv1/Conv', 50, 25), layer('/cv2/Conv', 16, 16)];
  writeFileSync(join(folder, 'layers.json'), JSON.stringify({ Layers, Bindings: [] }));
  expect((await bench(['layers', 'layers.json'], { cwd: folder, env: { COLUMNS: '400' } })).stdout).toContain(
    'not so in 2 layers: /stem/Conv · fp16 3 → 12, padded 8 → 16; /cv1/Conv · fp16 50 → 25, padded 56 → 32\n',
  );
  const { layers } = JSON.parse((await bench(['layers', 'layers.json', '--json'], { cwd: folder })).stdout);
  expect(layers.map(({ channels }: { channels: unknown }) => channels)).toEqual([
    [3, 12],
    [50, 25],
    [16, 16],
  ]);
});

test('what launches alone take, and how far the sum of layers is from the time without the profiler', async () => {
  const text = await layersOf();
  expect(text).toContain(
    'medians: sum of layers 0.3642 ms, GPU compute time without the profiler 0.2368 ms: +53.8 % (not for gating)',
  );
  expect(text).toContain('the profiler waits after each layer: shares are valid, times are too long');
  expect(text).toContain('launches without a CUDA graph: 0.18 to 0.55 ms of the host, estimated at 5 to 15 µs each');
});

test('the median of all layers beside that of the time without the profiler, also of a stored excerpt', async () => {
  const folder = temporaryFolder();
  const listings = ['listing-11-fp8-summary.log', 'listing-25-profile.log'].map((name) => join(GUIDE, name));
  writeFileSync(join(folder, 'both.log'), Buffer.concat(listings.map((path) => readFileSync(path))));
  const env = { BENCH_DB: join(folder, 'bench.sqlite'), COLUMNS: '200' };
  await bench(['import', 'both.log'], { cwd: folder, env });
  await bench(['import', ...listings, '--model', 'vit', '--precision', 'fp8'], { cwd: folder, env });
  // The last is the cell of listing 25, which does not state its options.
  for (const what of ['both.log', 'both', 'a661c98d']) {
    const { stdout } = await bench(['layers', what], { cwd: folder, env });
    expect(stdout).toContain(
      'medians: sum of layers 29.09 ms, GPU compute time without the profiler 28.90 ms: +0.63 % (not for gating)',
    );
    expect(stdout).toContain('2 layers, 29.09 ms a query');
    expect(stdout).toContain('time by input type: unknown precision 1.2 %');
  }
  const { stdout } = await bench(['layers', 'both', '--json'], { cwd: folder, env });
  const { medianMs, overheadPercent, totalMs } = JSON.parse(stdout);
  expect([totalMs, medianMs]).toEqual([29.0892, 29.0876]);
  expect(overheadPercent).toBeCloseTo((29.0876 / 28.9048 - 1) * 100, 9);
  const text = '  medians: sum of layers 29.09 ms, GPU compute time 28.90 ms: +0.63 % (not for gating)\n';
  expect((await bench(['parse', 'both.log'], { cwd: folder, env })).stdout).toContain(text);
  const log = readFileSync(join(folder, 'both.log'), 'utf8');
  writeFileSync(join(folder, 'nan.log'), log.replace('29.0876', 'nan'));
  const unknown = 'GPU compute time without the profiler 28.90 ms\nlaunches without a CUDA graph: 0.010 to 0.030 ms';
  expect((await bench(['layers', 'nan.log'], { cwd: folder, env })).stdout).toContain(unknown);
});

test('the longest layers first, and how much of all they are together', async () => {
  const rows = (await layersOf('--top', '3')).split('\n').filter((line) => /^0\.\d+ +ms/.test(line));
  expect(rows.map((row) => row.match(/[\d.]+ %/g)?.slice(0, 2))).toEqual([
    ['6.7 %', '6.7 %'],
    ['4.4 %', '11.2 %'],
    ['4.2 %', '15.4 %'],
    ['84.6 %', '100.0 %'],
  ]);
});

test('kernels for older GPUs are counted', async () => {
  expect(await layersOf()).toContain('7.0 % of the time is in kernels for GPUs older than sm90');
  const folder = temporaryFolder();
  const Layers = [{ Name: 'a', LayerType: 'CaskGemm', TacticName: 'sm80_xmma_gemm_f16', Inputs: [], Outputs: [] }];
  writeFileSync(join(folder, 'layers.json'), JSON.stringify({ Layers, Bindings: [] }));
  const profile = [{ count: 10 }, { name: 'a', timeMs: 10, averageMs: 1, medianMs: 1, percentage: 100 }];
  writeFileSync(join(folder, 'profile.json'), JSON.stringify(profile));
  const device = ['=== Device Information ===', 'Selected Device: NVIDIA H200', 'Compute Capability: 9.0'];
  const lines = device.map((line) => `[11/28/2026-12:00:00] [I] ${line}\n`);
  writeFileSync(join(folder, 'stdout.log'), lines.join(''));
  expect((await bench(['layers', folder])).stdout).toContain(
    '100 % of the time is in kernels for GPUs older than sm90',
  );
});

test('a layer for a whole region shows nothing of what is in it: how much of the time that is', () => {
  const layer = {
    timeMs: 3,
    medianMs: null,
    percentage: 75,
    type: 'Myelin',
    tactic: null,
    precisionIn: 'fp16',
    channels: null,
    inputs: [],
    outputs: [],
  };
  const [region, other] = ['{ForeignNode[/loop/a.../loop/b]}', '/head/Gemm'].map((name, index) => ({
    ...layer,
    index,
    name,
    averageMs: 3 - 2 * index,
    precisionOut: 'fp16',
    origins: [name],
  }));
  if (region === undefined || other === undefined) throw new Error('two layers');
  expect(summarizeLayers(layerFactsOf([region, other])).opaqueShare).toBe(0.75);
});

test('the memory that each build took at its peak is a metric', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  for (const matrix of ['quickstart-pair', 'quickstart-pair-opt32']) {
    await bench(['run', join(ROOT, 'matrices', `${matrix}.yaml`), '--filter', 'batch=8', '--db', db]);
  }
  const { stdout } = await bench(['trend', '--metric', 'build-memory', '--by', 'sweep', '--json', '--db', db]);
  expect([...stdout.matchAll(/"value": (\d+)/g)].map(([, value]) => Number(value))).toEqual([28, 34]);
});
