import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { torchTensorrtDriver } from '../../../src/harnesses/torch-tensorrt.ts';
import { placeWith, plannedCell, readingOf } from '../../support/driver-place.ts';
import { GUIDE } from '../../support/recordings.ts';

const FP16 = readFileSync(join(GUIDE, 'listing-16-torch-fp16-b256.txt'), 'utf8');
const SETTINGS = { kind: 'torch-tensorrt', run: ['python3', 'bench.py'], timer: 'wall' };

const read = (stdout: string, settings: object = SETTINGS) =>
  readingOf(torchTensorrtDriver, settings, { 'stdout.log': stdout });

describe('the block of latencies of a Torch-TensorRT harness', () => {
  test('every number of it, as percentiles that lie between two times', () => {
    const settings = { timer: 'wall', transfers: null, warmUpRuns: null } as const;
    const known = { harness: 'torch-tensorrt', harnessVersion: null, inFlight: 1, timedRuns: 100 } as const;
    const percentiles = { '90': 116.3, '95': 116.34, '99': 116.39 };
    expect(read(FP16)).toEqual({
      kind: 'read',
      reading: {
        method: { ...known, ...settings, percentileRule: 'linear' },
        latencyMs: { min: 113.83, max: 116.39, mean: 115.83, median: 115.87, percentiles },
        values: [],
      },
    });
  });

  test('of several blocks the last is the result: the others were warm-up', () => {
    const first = FP16.replace('115.87', '999.99');
    expect(read(`${first}\nDone warming up.\n${FP16}`)).toMatchObject({ reading: { latencyMs: { median: 115.87 } } });
  });

  test.each([
    [FP16.replace(/ {2}P99:.*\n/, ''), 'line 2: the block of latencies has no time for P99'],
    [
      'Latency over 100 runs (ms):\n',
      'line 1: the block of latencies has no time for Mean, Median, Min, Max, P90, P95, P99',
    ],
    [FP16.replace('113.83', 'nan'), 'line 2: the block of latencies has no time for Min'],
    [
      'Traceback (most recent call last):\n',
      'not a complete report of torch-tensorrt: a block that begins with "Latency over N runs (ms):" is needed',
    ],
  ])('what is missing is named (case %#)', (text, problem) => {
    expect(read(text)).toEqual({ kind: 'faulty', problem: `stdout.log: ${problem}` });
  });
});

/** Lines of the log of Torch-TensorRT's own converter, for a graph that became two engines. */
const CONVERSION = [
  ['0:00:00.006279', '0:00:00.821156', 72812],
  ['0:00:00.100000', '0:01:12.400000', 2 ** 21],
]
  .flatMap(([network, build, bytes]) => [
    `TRT INetwork construction elapsed time: ${network}`,
    'Not found cached TRT engines. Start building engine.',
    `Build TRT engine elapsed time: ${build}`,
    `TRT Engine uses: ${bytes} bytes of Memory`,
  ])
  .map((line) => `INFO:torch_tensorrt.dynamo.conversion._TRTInterpreter:${line}\n`)
  .join('');

describe('the log of a conversion', () => {
  const values = [
    { metric: 'networkConstruction:lower:s', value: expect.closeTo(0.106279, 6) },
    { metric: 'engineBuild:lower:s', value: expect.closeTo(73.221156, 6) },
    { metric: 'engineMemory:lower:MiB', value: expect.closeTo(2.06944, 5) },
    { metric: 'engines:lower:engines', value: 2 },
  ];

  test('without times of queries: judged by the build, summed over the engines of the graph', () => {
    expect(torchTensorrtDriver.reports(CONVERSION, 'log.txt')).toMatchObject([
      { harness: { metric: 'engineBuild:lower:s' }, result: { reading: { latencyMs: null, values } } },
    ]);
    expect(read(CONVERSION)).toMatchObject({ kind: 'faulty' });
    const logged = { 'stdout.log': FP16, 'stderr.log': CONVERSION };
    expect(readingOf(torchTensorrtDriver, SETTINGS, logged)).toMatchObject({ reading: { values } });
  });
});

describe('standalone files of it', () => {
  test.each([
    ['FP8, batch size 128, CUDA graph on', 'fp8', { input: [128] }, true, 0],
    ['bf16; batch=1; no CUDA graphs', 'bf16', { input: [1] }, false, 0],
    ['FP16, batch 8, Input(opt=8, dtype=half)', 'fp16', { input: [8] }, null, 1],
    ['with CUDA graphs', null, null, true, 0],
    ['CUDA graphs, as in the guide', null, null, null, 1],
    ['FP16 against FP8', null, null, null, 1],
  ])('# %s', (comment, precision, shapes, cudaGraph, notes) => {
    const [report] = torchTensorrtDriver.reports(FP16.replace(/^#.*/, `# ${comment}`), 'out.txt');
    expect(report).toMatchObject({ precision, shapes, cudaGraph, notes: [comment].slice(0, notes) });
  });

  test('several blocks are several reports, each with its own comments', () => {
    const fp8 = readFileSync(join(GUIDE, 'listing-17-torch-fp8-b256.txt'), 'utf8');
    const reports = torchTensorrtDriver.reports(`${FP16}\n${fp8}`, 'out.txt');
    expect(reports.map(({ precision }) => precision)).toEqual(['fp16', 'fp8']);
    const expected = [{ reading: { latencyMs: { median: 115.87 } } }, { reading: { latencyMs: { median: 67.96 } } }];
    expect(reports.map(({ result }) => result)).toMatchObject(expected);
  });
});

test('a cell of it is started in the folder of the matrix, and has its timer', () => {
  const settings = { ...SETTINGS, run: ['./bench.py', '--batch', 8], env: { MODE: 'fast', OLD: null } };
  expect(plannedCell(torchTensorrtDriver, settings, placeWith({}))).toMatchObject({
    harness: { name: 'torch-tensorrt', timer: 'wall', metric: 'latencyMs' },
    argv: ['/m/bench.py', '--batch', '8'],
    cwd: '/m/.',
    env: { MODE: 'fast', OLD: null },
    estimateS: 60,
  });
});
