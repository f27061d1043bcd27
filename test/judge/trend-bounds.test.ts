import { expect, test } from 'vitest';

import { trendMarks } from '../../src/judge/trend.ts';
import type { BoundBy } from '../../src/records/bound.ts';

/** Marks of a cell with one run in each sweep, as `step text`. */
function marksOf(...bounds: (BoundBy | null)[]): string[] {
  const runs = bounds.map((boundBy, sweep) => ({ boundBy, sweepId: `sweep ${sweep}`, environmentId: 'here' }));
  const about = { cellKey: 'cell', metric: 'gpuComputeMs' } as const;
  const marks = trendMarks({ steps: runs, runs, environments: new Map(), baselines: [], about, judged: null });
  return marks.filter(({ kind }) => kind === 'bound').map(({ step, text }) => `${step} ${text}`);
}

test('where the bottleneck turned, and back', () => {
  expect(marksOf('compute', 'compute', 'host', 'host', 'h2d', 'h2d')).toEqual([
    '2 bound by the host, before by GPU compute',
    '4 bound by copies to the GPU (H2D), before by the host',
  ]);
});

test('one sweep between others is none, the newest is', () => {
  expect(marksOf('compute', 'host', 'compute', 'compute')).toEqual([]);
  expect(marksOf('compute', 'compute', 'host')).toEqual(['2 bound by the host, before by GPU compute']);
});

test('sweeps of which it is not known are passed over', () => {
  expect(marksOf(null, 'compute', null, 'compute', null)).toEqual([]);
  expect(marksOf('compute', null, 'host', null, 'host')).toEqual(['2 bound by the host, before by GPU compute']);
});
