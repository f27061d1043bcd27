import { describe, expect, test } from 'vitest';

import { oneModel } from '../../support/matrices.ts';
import { planFor, problems } from '../../support/plan-for.ts';

const DEFAULT_CELL = oneModel('axes: {precision: fp16, batch: 8}');
const ONNX = `--onnx=${process.cwd()}/vit.onnx`;

/** A run of the default cell: graph on, no transfers, spin wait, everything said that the version can say. */
const RUN_ARGS: Readonly<Record<string, readonly string[]>> = {
  '8.4': ['--useCudaGraph', '--noDataTransfers', '--useSpinWait', '--streams=1', '--percentile=99'],
  '8.6.1': ['--useCudaGraph', '--noDataTransfers', '--useSpinWait', '--infStreams=1', '--percentile=90,95,99'],
  '10.16': ['--useCudaGraph', '--noDataTransfers', '--useSpinWait', '--infStreams=1', '--percentile=90,95,99'],
  '11.1': ['--infStreams=1', '--percentile=90,95,99'],
};

test.each(Object.entries(RUN_ARGS))('a timed run on %s', (version, intent) => {
  const before = '--loadEngine={engine} --shapes=input:8x3x224x224 --warmUp=200 --duration=3 --iterations=10';
  expect(planFor(version, DEFAULT_CELL).runs[0]?.args.join(' ')).toBe(
    [before, ...intent, '--exportTimes=times.json'].join(' '),
  );
});

test.each([
  ['10.6', '--infStreams=4 --percentile=90,95,99'],
  ['11.0', '--noCudaGraph --includeDataTransfers --noSpinWait --infStreams=4'],
])('the opposite of every default on %s', (version, words) => {
  const opposite = 'axes: {precision: fp16, batch: 8, cudaGraph: off, dataTransfers: on, spinWait: off, streams: 4}';
  expect(planFor(version, oneModel(opposite)).runs[0]?.args.join(' ')).toContain(` --iterations=10 ${words}`);
});

const BUILD_ARGS: Readonly<Record<string, readonly string[]>> = {
  '8.4': ['--fp16', '--buildOnly'],
  '8.6.1': ['--fp16', '--skipInference'],
  '10.6': ['--stronglyTyped', '--skipInference'],
  '11.0': ['--skipInference'],
};

test.each(Object.entries(BUILD_ARGS))('a build on %s', (version, words) => {
  const shapes = ['min', 'opt', 'max'].map((limit) => `--${limit}Shapes=input:8x3x224x224`).join(' ');
  const before = [ONNX, ...words.slice(0, -1), shapes, '--saveEngine={engine}', ...words.slice(-1)].join(' ');
  const line = `${before} --profilingVerbosity=detailed --timingCacheFile={timingCache} --exportLayerInfo=layers.json`;
  expect(planFor(version, DEFAULT_CELL).builds[0]?.args.join(' ')).toBe(line);
});

test('a profile run is separate everywhere, and says so where it must', () => {
  const args = (version: string) => planFor(version, DEFAULT_CELL, true).runs[1]?.args ?? [];
  expect(args('10.6')).toContain('--separateProfileRun');
  expect(args('11.0')).not.toContain('--separateProfileRun');
  for (const version of ['10.6', '11.0']) {
    expect(args(version)).toContain('--exportProfile=profile.json');
    expect(args(version)).not.toContain('--exportTimes=times.json');
  }
});

test("the guide's dynamic shapes, word for word", () => {
  const text = `models:
  vit: {onnx: vit-quantized.onnx, shapes: {input: [batch, 3, 224, 224]}, precisions: {fp8: onnx}}
axes: {precision: fp8, batch: 16}
build: {min: {batch: 1}, opt: {batch: 256}, max: {batch: 1024}}`;
  const plan = planFor('11.0', text);
  expect(plan.builds[0]?.args.join(' ')).toContain(
    '/vit-quantized.onnx --minShapes=input:1x3x224x224 --optShapes=input:256x3x224x224 --maxShapes=input:1024x3x224x224 ',
  );
  expect(plan.runs[0]?.args).toContain('--shapes=input:16x3x224x224');
  expect(() => planFor('11.0', text.replace('batch: 16', 'batch: 2048'))).toThrow(
    'm.yaml:2:3: model "vit": input "input": 2048 in dimension 0 is outside of 1 to 1024',
  );
});

test('several profiles in one engine, and the one of each run', () => {
  const text = `models:
  vit: {onnx: vit.onnx, shapes: {input: [batch, 3]}}
axes: {batch: [1, 64]}
build: {profiles: [{opt: {batch: 1}, max: {batch: 4}}, {min: {batch: 8}, opt: {batch: 32}}]}`;
  const plan = planFor('10.6', text);
  expect(plan.builds).toHaveLength(1);
  expect(plan.builds[0]?.args.join(' ')).toContain(
    '--profile=0 --minShapes=input:1x3 --optShapes=input:1x3 --maxShapes=input:4x3 --profile=1 --minShapes=input:8x3 --optShapes=input:32x3 --maxShapes=input:64x3 ',
  );
  const used = plan.runs.map(({ args }) => args.filter((arg) => /^--(?:shapes|useProfile)/.test(arg)).join(' '));
  expect(used.toSorted()).toEqual(['--shapes=input:1x3 --useProfile=0', '--shapes=input:64x3 --useProfile=1']);
  expect(problems('8.6', text)[0]).toContain('trtexec 8.6.0 has no --profile: it was added in 9.1');
});

test('several inputs, colons in names, scalars', () => {
  const text = (shapes: string) => `models:\n  m: {onnx: m.onnx, shapes: ${shapes}}\n`;
  expect(planFor('10.6', text('{"Input:0": [1, 3], mask: [1]}')).runs[0]?.args).toContain(
    '--shapes=Input:0:1x3,mask:1',
  );
  expect(planFor('10.6', text('{s: []}')).runs[0]?.args).toContain('--shapes=s:');
  expect(problems('8.6', text('{s: []}'))[0]).toContain('is a scalar: trtexec 8.6.0 does not support it');
  expect(problems('10.6', text(`{"it's": [1]}`))[0]).toContain('with a comma, a quote or a space');
});

describe('precision by flag', () => {
  const byFlag = (precision: string) =>
    oneModel(`axes: {precision: ${precision}, batch: 8}`).replace(
      'precisions: {fp16: onnx, fp8: onnx}',
      `precisions: {${precision}: flag}`,
    );

  test.each([
    ['fp16', '8.4', ['--fp16']],
    ['fp8', '8.6', ['--fp8']],
    ['bf16', '10.0', ['--bf16']],
    ['best', '10.6', ['--best']],
    ['fp32', '10.6', ['--noTF32']],
    ['tf32', '10.6', []],
  ])('%s on %s', (precision, version, flags) => {
    const args = planFor(version, byFlag(precision)).builds[0]?.args ?? [];
    expect(args.slice(1, 1 + flags.length)).toEqual(flags);
    expect(args).not.toContain('--stronglyTyped');
  });

  test('is gone in 11.0, and says what to do', () => {
    expect(problems('11.0', byFlag('fp16'))).toEqual([
      'm.yaml:6:19: TensorRT 11 removed --fp16: the precision is in the ONNX file now; use precisions: {fp16: autocast}, or an ONNX file that is fp16 already (precisions: {fp16: {onnx: FILE}})',
    ]);
    expect(problems('11.0', byFlag('fp8'))[0]).toContain('use precisions: {fp8: modelopt}');
    expect(problems('11.1', byFlag('best'))[0]).toContain('removed --best');
  });

  test('is not there yet in older ones', () => {
    expect(problems('8.5', byFlag('fp8'))).toEqual(['m.yaml:6:19: trtexec 8.5.0 has no --fp8: it was added in 8.6']);
    expect(problems('10.0', byFlag('int4'))[0]).toContain('it was added in 10.1');
  });
});

test('a flag that the version does not have is told with its versions', () => {
  const text = oneModel(
    'axes: {precision: fp16, batch: 8}',
    'run: {flags: {--allocationStrategy: static}}',
    'build: {flags: {--heuristic: true, --maxTactics: 3}}',
  );
  expect(problems('10.6', text)).toEqual(['m.yaml:8:17: trtexec 10.6.0 has no --heuristic: 10.0 removed it']);
  expect(problems('8.6', text)).toEqual([
    'm.yaml:7:15: trtexec 8.6.0 has no --allocationStrategy: it was added in 10.0',
    'm.yaml:8:36: trtexec 8.6.0 has no --maxTactics: it was added in 10.4',
  ]);
});

test('one engine serves all run shapes of a profile', () => {
  const plan = planFor(
    '10.6',
    oneModel('axes: {precision: [fp16, fp8], batch: [1, 8, 32], cudaGraph: [on, off]}', 'build: {opt: {batch: 8}}'),
  );
  expect([plan.cells.length, plan.builds.length, plan.runs.length]).toEqual([12, 1, 12]);
});
