import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { syntheticLog } from '../../support/fitness-facts.ts';
import { bench } from '../../support/bench.ts';
import { GUIDE, readFixture } from '../../support/recordings.ts';

const LOG = join(GUIDE, 'listing-06-fp16-summary.log');

test('a log from a file, and the same from standard input', async () => {
  const file = await bench(['parse', LOG, '--json']);
  const piped = await bench(['parse', '-', '--json'], { input: readFileSync(LOG, 'utf8') });
  const [fromFile, fromPipe] = [file, piped].map(({ stdout }) => JSON.parse(stdout).runs[0]);
  expect([fromFile.file, fromPipe]).toEqual([LOG, { ...fromFile, file: '-' }]);
});

test('says what it is, the numbers, and what trtexec remarked', async () => {
  const folder = 'gpu-contended/vit_small.fp8.b8.graph0';
  const log = ['stdout', 'stderr'].map((stream) => readFixture(`${folder}/${stream}.log.br`).toString()).join('');
  const { code, stdout } = await bench(['parse', '-'], { input: log });
  const text = /GPU Compute Time: .*?median = ([\d.]+) ms/.exec(log)?.[1];
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('NVIDIA H200') });
  expect(stdout).toMatch(/^ {2}GPU compute +[\d.]+ +ms/m);
  expect(Number(/GPU compute +([\d.]+) +ms/.exec(stdout)?.[1])).toBeCloseTo(Number(text), 3);
  expect(stdout).toContain('unstable:');
});

test('copies and GPU compute are the parts of a bar', async () => {
  const { stdout } = await bench(['parse', '-'], { input: readFixture('formats/h2d-bound/stdout.log.br').toString() });
  expect(stdout).toContain(`  ${'▒'.repeat(4)}${'█'.repeat(20)}  H2D 17.7 % · GPU compute 81.7 % · D2H 0.65 %\n`);
  expect((await bench(['parse', LOG])).stdout).not.toContain('█');
});

test('a failure is read without being one: exit code 0, its cause and the line', async () => {
  const { code, stdout } = await bench(['parse', '-'], {
    input: [
      '&&&& RUNNING TensorRT.trtexec [TensorRT v100600] [b26] # trtexec --onnx=a.onnx',
      '[11/21/2026-07:33:53] [E] Could not open file a.onnx',
      '&&&& FAILED TensorRT.trtexec [TensorRT v100600] [b26] # trtexec --onnx=a.onnx',
    ].join('\n'),
  });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('modelMissing') });
  expect(stdout).toContain('line 2: Could not open file a.onnx');
});

test('shares of layers are those that trtexec printed, also where it shows two of them', async () => {
  const { stdout } = await bench(['parse', join(GUIDE, 'listing-25-profile.log')]);
  const rows = stdout.match(/^ +\d+\.\d+ +ms.*?%/gm)?.map((row) => row.trim().replaceAll(/ +/g, ' '));
  expect(rows).toEqual(['0.2413 ms 0.80 %', '0.1036 ms 0.40 %', '29.09 ms 100 %']);
  const { stdout: json } = await bench(['parse', join(GUIDE, 'listing-25-profile.log'), '--json']);
  const total = { queries: 111, timeMs: 3228.9, averageMs: 29.0892, medianMs: 29.0876 };
  expect(JSON.parse(json).runs[0].layersTotal).toEqual(total);
});

test('--min-queries decides what is enough', async () => {
  const log = readFileSync(LOG, 'utf8');
  const outcome = async (...args: string[]): Promise<unknown> => {
    return JSON.parse((await bench(['parse', '-', '--json', ...args], { input: log })).stdout).runs[0].outcome;
  };
  expect(await outcome()).toMatchObject({ kind: 'measured' });
  expect(await outcome('--min-queries', '100000')).toMatchObject({ kind: 'unfit', reason: 'tooFewQueries' });
});

test('a GPU that is idle at 2 % for other reasons than its launches gets no advice about CUDA graphs', async () => {
  const input = syntheticLog({ throughputQps: 20, enqueueMs: 0.95, options: ['Inference Streams: 1'] });
  const { bound, flags } = JSON.parse((await bench(['parse', '-', '--json'], { input })).stdout).runs[0];
  expect(flags).toEqual([]);
  expect(bound).toMatchObject({ by: 'host', advice: expect.stringMatching(/^launches do not explain the idle GPU/) });
});
