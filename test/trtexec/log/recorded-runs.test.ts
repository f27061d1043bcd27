import { expect, test } from 'vitest';

import { readFixture, recordedRun } from '../../support/recordings.ts';
import { parseTrtexecLog } from '../../support/whole-files.ts';

test('banner, device and engine lines of a run from a loaded engine', () => {
  const run = recordedRun('formats/enqueue-bound');
  expect(run.tensorrtVersion).toEqual({ major: 10, minor: 6, patch: 0 });
  expect(run.options).toMatchObject({
    shapes: { input: [8, 3, 32, 32] },
    iterations: 10,
    durationS: 1,
    warmUpMs: 200,
    streams: 1,
    cudaGraph: false,
    dataTransfers: true,
    spinWait: true,
    percentiles: [90, 95, 99],
    exportTimes: 'runs/formats/enqueue-bound/times.json',
  });
  expect(run.device).toMatchObject({
    name: 'NVIDIA H200',
    computeCapability: '9.0',
    sms: 132,
    globalMemoryMib: 143155,
    memoryBusWidthBits: 6016,
    ecc: true,
    applicationComputeClockGhz: 1.98,
  });
  expect(run.build).toMatchObject({ deserializedS: 0.0199755, contextMemoryMib: 1.5 });
  expect(run.inputBindings).toEqual({ input: [8, 3, 32, 32] });
  expect([run.warmUpQueries, run.queries]).toEqual([2953, 14680]);
});

test('a build: shapes of the profile, seconds and size', () => {
  const run = recordedRun('formats/build-resnet-tiny');
  expect(run.options.precision).toBe('Strongly Typed');
  expect(run.options.profilingVerbosity).toBe(2);
  expect(run.options.buildShapes).toEqual({
    input: { min: [1, 3, 32, 32], opt: [8, 3, 32, 32], max: [32, 3, 32, 32] },
  });
  expect(run.build.inferenceSkipped).toBe(true);
  expect(run.build.engineBuiltS).toBeGreaterThan(0);
  expect(run.build.createdEngineMib).toBeGreaterThan(0);
  expect(run.build.peakMemoryMib).toBe(5);
  expect(run.measurement).toBeNull();
});

test('a captured graph, and an enqueue-bound run with its evidence', () => {
  const { cudaGraph } = recordedRun('formats/graph');
  expect(cudaGraph).toEqual({ capturesStarted: 1, capturesSucceeded: 1, captureFailed: false });
  const bound = recordedRun('formats/enqueue-bound');
  expect(bound.hints.map(({ id }) => id)).toEqual(['enqueue_bound', 'unstable']);
  expect(bound.hints[1]?.value).toBe(3.9241);
});

test('several streams capture several graphs', () => {
  const run = recordedRun('formats/streams-4-graph');
  expect(run.cudaGraph.capturesSucceeded).toBe(4);
  expect(run.hints.map(({ id }) => id)).toContain('multi_stream');
});

test('two runs in one log are two runs with their own numbers and places', () => {
  const log = readFixture('formats/two-runs-one-log/stdout.log.br');
  const { runs } = parseTrtexecLog(log);
  expect(runs.map(({ firstLine, lastLine }) => [firstLine, lastLine])).toEqual([
    [1, 498],
    [499, 994],
  ]);
  expect(runs.map(({ options }) => options.shapes['input']?.[0])).toEqual([8, 32]);
  expect(runs.map(({ closingMarker }) => closingMarker)).toEqual(['PASSED', 'PASSED']);
});

test('stderr lines go to the run whose time they were logged in', () => {
  const run = (name: string, line: string): string => {
    const marker = `TensorRT.trtexec [TensorRT v100600] # ${name}`;
    return `&&&& RUNNING ${marker}\n[11/21/2026-07:00:${line}\n&&&& PASSED ${marker}\n`;
  };
  const stdout = run('a', '00] [I] one') + run('b', '10] [I] two');
  const stderr = [
    '[11/21/2026-07:00:01] [E] first',
    'without a prefix: error',
    '[11/21/2026-07:00:12] [E] second',
  ].join('\n');
  const { runs } = parseTrtexecLog(stdout, stderr);
  expect(runs.map(({ errors }) => errors.map(({ text }) => text))).toEqual([['first'], ['second']]);
});

test('a killed run before another one stays open, and the children of the tuner are runs of their own', () => {
  const { runs } = parseTrtexecLog(
    [
      '&&&& RUNNING TensorRT.trtexec [TensorRT v110100] [b1] # killed',
      '&&&& RUNNING TensorRT.trtexec [TensorRT v110100] [b1] # parent',
      "&&&& TASK_BEGIN [iter=0] BuildRoute = '-a=on'",
      '&&&& RUNNING TensorRT.trtexec [TensorRT v110100] [b1] # child',
      '&&&& PASSED TensorRT.trtexec [TensorRT v110100] [b1] # child',
      "&&&& TASK_END [iter=0] BuildRoute = '-a=on'",
      '&&&& PASSED TensorRT.trtexec [TensorRT v110100] [b1] # parent',
    ].join('\n'),
  );
  expect(runs.map(({ commandLine, closingMarker }) => [commandLine, closingMarker])).toEqual([
    ['killed', null],
    ['parent', 'PASSED'],
    ['child', 'PASSED'],
  ]);
  expect(runs[1]?.tensorrtVersion).toEqual({ major: 11, minor: 1, patch: 0 });
});
