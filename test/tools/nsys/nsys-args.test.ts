import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { GUIDE_NSYS, captureArgs, nsysDialect, shownBuildArgs } from '../../../src/tools/nsys/nsys-args.ts';
import type { CaptureRequest } from '../../../src/tools/nsys/nsys-args.ts';
import { notCaptured, nsysSteps } from '../../../src/features/profile/target.ts';
import { captureText, trtllmArgs, trtllmVariables, layerNcuArgs } from '../../../src/features/profile/profile.ts';
import { makeLook } from '../../../src/terminal/look.ts';
import { ROOT } from '../../support/bench.ts';

const COMMANDS = readFileSync(join(ROOT, 'test', 'fixtures', 'guide', 'commands.md'), 'utf8');

/** The text of the guide in a row of its table. */
function guide(row: string): string {
  const line = COMMANDS.split('\n').find((each) => each.startsWith(`| ${row} |`)) ?? '';
  return line.slice(`| ${row} | `.length, -' |'.length);
}

const FOO: CaptureRequest = { hasGraph: false, output: 'foo_profile', iterations: 50 };
const TIMED = '--warmUp=200 --duration=3 --iterations=10 --infStreams=1 --percentile=90,95,99 --exportTimes=times.json';
const RUN = ['--loadEngine={engine}', ...TIMED.split(' ')];

const captureLine = (request: Partial<CaptureRequest> = {}, dialect = GUIDE_NSYS): string =>
  ['nsys', ...captureArgs({ ...FOO, ...request }, dialect, ['trtexec'], RUN, 'foo.plan')].join(' ');

describe('the commands of the guide, to the character', () => {
  test('first the build, then the capture of the queries alone', () => {
    const [, build = '', capture = ''] = /^`([^`]*)`, then `([^`]*)`/.exec(guide('AT-17')) ?? [];
    expect(captureLine()).toBe(capture);
    const built = ['trtexec', ...shownBuildArgs(['--onnx=foo.onnx'], 'foo.plan')].join(' ');
    expect({ built, build }).toEqual({ built: build, build: expect.stringContaining('--saveEngine=foo.plan') });
  });

  test('each node of a graph is traced when there is one, and not otherwise', () => {
    const [, option = ''] = /CUDA graphs on also `([^`]*)`/.exec(guide('AT-17')) ?? [];
    expect(option).toBe('--cuda-graph-trace=node');
    expect(captureLine({ hasGraph: true })).toContain(` cudaProfilerApi ${option} trtexec `);
    expect(captureLine()).not.toContain('graph');
  });

  test('GPU metrics', () => {
    const [, option = ''] = /GPU metrics `([^`]*)`/.exec(guide('AT-17')) ?? [];
    expect(option).toBe('--gpu-metrics-device all');
    expect(captureLine({ gpuMetrics: true })).toContain(` ${option} trtexec `);
  });

  test('DLA: the line of the guide, with a name for the report', () => {
    const line = captureArgs({ ...FOO, dla: true, iterations: 20 }, GUIDE_NSYS, ['trtexec'], RUN, 'alexnet_int8.plan');
    expect(['nsys', ...line].join(' ').replace(' -o foo_profile', '')).toBe(guide('AT-17, DLA').slice(1, -1));
  });

  test('the window of a TensorRT-LLM harness', () => {
    const line = guide('AT-17, LLM').slice(1, -1);
    const command = line.slice(line.indexOf('trtllm-bench')).split(' ');
    const [step] = nsysSteps(trtllmArgs('trace', command), trtllmVariables('100-150') ?? {}, 'trace');
    const report = { ...notCaptured(), steps: step === undefined ? [] : [step] };
    expect(captureText(report, makeLook(80, false)).at(-1)).toBe(line.replaceAll("'", ''));
    const wrong = ['150-100', '100', '100-100', 'a-b', '-1-5', ''];
    expect(wrong.map(trtllmVariables)).toEqual(wrong.map(() => null));
  });
});

test('what makes the cell what it is stays; how long it measures, and what it exports, does not', () => {
  const own = ['--shapes=input:8x3', '--useCudaGraph', '--loadInputs=input:a b.bin', '--device=1'];
  const line = captureArgs(FOO, GUIDE_NSYS, ['/opt/trtexec'], [...RUN, ...own], '/e/k.plan');
  const stated = '--profilingVerbosity=detailed --loadEngine=/e/k.plan --warmUp=0 --duration=0 --iterations=50';
  expect(line.slice(line.indexOf('/opt/trtexec') + 1)).toEqual([...stated.split(' '), ...own]);
});

describe('what versions of Nsight Systems spell in other ways', () => {
  const HELP = `
	--accelerator-trace=

	   Possible values are 'none' or 'tegra-accelerators'.

	--gpu-metrics-devices=
	--gpu-metrics-frequency=
`;

  test('is read from the help of the one that is there', () => {
    const found = nsysDialect('NVIDIA Nsight Systems version 2025.3.1.90-253135822126v0\n', HELP);
    expect(found.version).toBe('2025.3.1');
    expect(captureLine({ gpuMetrics: true }, found)).toContain('--gpu-metrics-devices all');
    const text = '-t cuda,nvtx,cudla,tegra-accelerators,osrt --accelerator-trace=tegra-accelerators';
    expect(captureLine({ dla: true }, found)).toContain(text);
  });

  test('one that cannot says so, with what can', () => {
    const desktop = nsysDialect('2024.6.1', '--capture-range=\n nvmedia elsewhere\n');
    expect(desktop).toMatchObject({ gpuMetrics: null, accelerators: null });
    expect(() => captureLine({ dla: true }, desktop)).toThrow(
      'Nsight Systems 2024.6.1 has no --accelerator-trace: DLA is traced by the edition for embedded platforms, on the board itself',
    );
    expect(() => captureLine({ gpuMetrics: true }, desktop)).toThrow('2024.6.1 has no GPU metrics');
    expect(captureLine({}, desktop)).toBe(captureLine());
  });
});

describe('Nsight Compute for one layer', () => {
  const line = (layer: string, is11 = false): string[] =>
    layerNcuArgs(layer, 'out', is11, ['trtexec'], [...RUN, '--useCudaGraph'], 'foo.plan');

  test('is filtered by the range of the layer, and launches no graph', () => {
    expect(line('conv1').join(' ')).toBe(
      '--nvtx --nvtx-include TensorRT@conv1/ --profile-from-start off --set full -o out trtexec --profilingVerbosity=detailed --loadEngine=foo.plan --warmUp=0 --duration=0 --iterations=1',
    );
    expect(line('conv1', true).at(-1)).toBe('--noCudaGraph');
  });

  test('characters that it takes for itself are escaped in the name', () => {
    expect(line('/head/fc + relu, {ForeignNode[a...b]}*')[2]).toBe(
      String.raw`TensorRT@\/head\/fc \+ relu\, {ForeignNode\[a...b\]}\*/`,
    );
    expect(line(String.raw`a\b`)[2]).toBe(String.raw`TensorRT@a\b/`);
  });
});
