import { expect, test } from 'vitest';

import { boundOf, boundReasons, overlapOf, usualBound, withGraphGain } from '../../src/judge/bound.ts';
import type { BoundBy } from '../../src/records/bound.ts';
import type { RunFlag } from '../../src/records/outcome.ts';
import { NO_VALUES } from '../support/no-values.ts';

const GRAPH = { cudaGraph: true, spinWait: true };
const NO_GRAPH = { cudaGraph: false, spinWait: true };

const run = (boundBy: BoundBy | null, values: Partial<typeof NO_VALUES> = {}, flags: RunFlag[] = []) => ({
  boundBy,
  flags,
  values: { ...NO_VALUES, ...values },
});

test('most of the runs decide, then the newest; unknown ones do not count', () => {
  expect([usualBound(['compute', 'host', 'host']), usualBound(['host', 'compute'])]).toEqual(['host', 'compute']);
  expect([usualBound([null, null, 'h2d']), usualBound([null]), boundOf(GRAPH, [])]).toEqual(['h2d', null, null]);
});

test('evidence is the medians of the runs that have it', () => {
  const runs = [0.86, 0.88].map((gpuBusy) => run('h2d', { gpuBusy, h2dMs: 0.3514, gpuComputeMs: 0.3161 }));
  const advice = 'send smaller inputs, keep them on the GPU, or read them there (GPUDirect); look at the PCIe link';
  const evidence = 'a copy takes 0.351 ms, GPU compute 0.316 ms, GPU busy 87 % of the time';
  expect(boundOf(GRAPH, [...runs, run('compute', { gpuBusy: 0.95 })])).toEqual({ by: 'h2d', evidence, advice });
});

test('advice on copies follows how data comes to the GPU', () => {
  const adviceOn = (gpuName: string | null) => boundOf(GRAPH, [run('d2h')], { gpuName })?.advice;
  const shared = 'CPU and GPU share their memory here, an application need not copy: measure without transfers';
  expect(['Orin', 'NVIDIA Jetson AGX Orin', 'NVIDIA Thor', 'Xavier', 'NVIDIA GB10'].map(adviceOn)).toEqual(
    Array.from({ length: 5 }, () => shared),
  );
  const discrete = 'return smaller outputs, or leave them on the GPU';
  expect(['NVIDIA GH200 480GB', 'NVIDIA GB200'].map(adviceOn)).toEqual([discrete, discrete]);
  expect(['NVIDIA H200', null].map(adviceOn)).toEqual([
    `${discrete}; look at the PCIe link`,
    `${discrete}; look at the PCIe link`,
  ]);
});

test('copies stand with the link that they take, where it is known', () => {
  const flag = { id: 'pcieReduced', effect: 'explained', value: 0.25, evidence: 'PCIe 4 x8 of 5 x16' } as const;
  const evidenceOn = (gpuName: string, flags: RunFlag[] = [], by: BoundBy = 'h2d', pcieMax: string | null = '5 x16') =>
    boundOf(GRAPH, [run(by, { gpuBusy: 0.5 }, flags)], { gpuName, pcieMax })?.evidence;
  const busy = 'GPU busy 50 % of the time';
  expect(evidenceOn('NVIDIA H200')).toBe(`${busy}, PCIe up to 5 x16`);
  expect(evidenceOn('NVIDIA H200', [flag], 'd2h')).toBe(`${busy}, PCIe 4 x8 of 5 x16`);
  expect(evidenceOn('NVIDIA H200', [], 'h2d', null)).toBe(busy);
  expect([evidenceOn('NVIDIA GH200'), evidenceOn('NVIDIA H200', [flag], 'host')]).toEqual([busy, busy]);
  expect(boundReasons([run('compute')], [run('d2h', {}, [flag])])).toEqual([expect.stringContaining(': PCIe 4 x8 of')]);
});

test('or what a flag says of it', () => {
  const flag = { id: 'powerLimited', effect: 'explained', value: 1, evidence: '690 of 700 W' } as const;
  expect(boundOf(GRAPH, [run('power', {}, [flag])])?.evidence).toBe('690 of 700 W');
});

test('the advice fits: a CUDA graph only where there is none, and the CPUs where others use them', () => {
  const advice = (by: BoundBy, cell = NO_GRAPH, flags: RunFlag[] = []): string =>
    boundOf(cell, [run(by, {}, flags)])?.advice ?? '';
  expect([advice('host'), advice('host', GRAPH)]).toEqual(['use a CUDA graph or a larger batch', 'use a larger batch']);
  expect(advice('host', { cudaGraph: true, spinWait: false })).toBe('use spin wait or a larger batch');
  const starved = { id: 'hostBound', effect: 'widened', value: 0.5, evidence: 'GPU idle' } as const;
  expect(advice('host', NO_GRAPH, [starved])).toContain('keep other work off the CPUs');
  const pattern = /^a CUDA graph may make it faster/;
  expect(boundOf(NO_GRAPH, [run('compute', { enqueueRatio: 0.7 })])?.advice).toMatch(pattern);
  expect(boundOf(GRAPH, [run('compute', { enqueueRatio: 0.7 })])?.advice).not.toContain('graph');
  for (const by of ['compute', 'power', 'h2d', 'd2h', 'paced', 'contended'] as const) {
    expect(advice(by)).not.toContain('graph');
  }
});

test('a cell that turned from one to another is told, even when its time did not move', () => {
  const before = [run('compute', { gpuBusy: 0.99, enqueueRatio: 0.3 })];
  const after = [run('host', { gpuBusy: 0.97, enqueueRatio: 0.95 })];
  expect(boundReasons(before, after)).toEqual([
    'now bound by the host, before by GPU compute: GPU busy 97 % of the time, enqueue takes 0.95 times the GPU time',
  ]);
  expect(boundReasons(after, before)[0]).toMatch(/^now bound by GPU compute, before by the host/);
  expect([boundReasons(before, before), boundReasons([run(null)], after)]).toEqual([[], []]);
  const at = (enqueueRatio: number) => [run('compute', { enqueueRatio })];
  const turned = 'enqueue time now near, before free: enqueue takes 0.62 times the GPU time, before 0.41';
  expect([boundReasons(at(0.41), at(0.62)), boundReasons(at(0.49), at(0.51))]).toEqual([[turned], []]);
});

test('a GPU that is idle far longer than launches take is no case for a CUDA graph', () => {
  const adviceOf = (gpuBusy: number, enqueueRatio: number) =>
    boundOf(NO_GRAPH, [run('host', { gpuBusy, enqueueRatio })])?.advice;
  const pauses = 'launches do not explain the idle GPU: look for pauses, and for other work on the CPUs';
  expect([adviceOf(0.02, 0.95), adviceOf(0.02, 0.25)]).toEqual([pauses, pauses]);
  expect(adviceOf(0.708, 0.84)).toBe('use a CUDA graph or a larger batch');
  // A V100 with TensorRT 7: launches take a twelfth of the GPU time.
  expect(adviceOf(0.672, 0.08)).toBe(pauses);
  const copying = (d2hMs: number) =>
    run('host', { gpuBusy: 0.8, enqueueRatio: 0.01, gpuComputeMs: 4, h2dMs: 0.8, d2hMs });
  const advice = [0.01, 0.2, 1].map((d2hMs) => boundOf(NO_GRAPH, [copying(d2hMs)])?.advice);
  expect(advice).toEqual([expect.stringMatching(/^copies explain/), expect.stringMatching(/^copies/), pauses]);
  // Of 9 ms in a period of 8.33 ms: hardly; copies of 1 % under a busy GPU: overlapping.
  expect([overlapOf([0.36, 0.48, 0.24]).isSerial, overlapOf([0.01, 0.996, 0.02]).isSerial]).toEqual([true, false]);
});

test('a busy GPU: a CUDA graph may help, and under a profiler nothing says that it does', () => {
  const profiled = { id: 'profilingOn', effect: 'barred', value: null, evidence: '--exportProfile' } as const;
  const values = { gpuBusy: 0.97, enqueueRatio: 1.01 };
  expect(boundOf(NO_GRAPH, [run('host', values)])?.advice).toMatch(/^a CUDA graph may make it faster/);
  expect(boundOf(NO_GRAPH, [run('compute', values, [profiled])])?.advice).not.toContain('graph');
});

test('a CUDA graph that was measured to gain nothing is not advised', () => {
  const adviceAt = (by: BoundBy, gainPercent: number): string | undefined => {
    const bound = boundOf(NO_GRAPH, [run(by, { gpuBusy: 0.9, enqueueRatio: 0.95 })]);
    return bound === null ? undefined : withGraphGain(bound, gainPercent).advice;
  };
  expect(adviceAt('host', -0.02)).toBe('use a larger batch: a CUDA graph gains nothing here');
  expect(adviceAt('compute', -0.02)).toMatch(/^look at its layers .*; a CUDA graph gains nothing here$/);
  expect(adviceAt('host', 30)).toBe('use a CUDA graph or a larger batch');
});

test('copies that take longer than the GPU in both directions are both named', () => {
  expect(boundOf(GRAPH, [run('h2d', { h2dMs: 6.2, d2hMs: 6.25, gpuComputeMs: 0.45, gpuBusy: 0.03 })])).toMatchObject({
    evidence: 'copies take 6.2 ms to the GPU and 6.25 ms from it, GPU compute 0.45 ms, GPU busy 3 % of the time',
    advice: 'send and return less, or keep it on the GPU; look at the PCIe link',
  });
});
