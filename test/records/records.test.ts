import { expect, test } from 'vitest';

import { metricNames } from '../../src/records/gated-metric.ts';
import {
  gateMetric,
  METRIC_IDS,
  METRIC_WORDS,
  metricOf,
  metricWord,
  ownMetricNamed,
} from '../../src/records/metric.ts';
import type { BuildId, CellKey, RunId, SweepId } from '../../src/records/scalars.ts';

test('each metric has a word of its own, and its id still names it', () => {
  expect(METRIC_WORDS.join(' ')).toBe(
    'gpu latency throughput p99 enqueue h2d d2h enqueue-ratio gpu-busy cv items energy item-energy build-time engine-size build-memory context-size gpu-memory process-memory host-memory temperature sm-clock power load-time first-inference refit-time output-error',
  );
  for (const id of METRIC_IDS) {
    expect([ownMetricNamed(id), ownMetricNamed(metricWord(id)), metricOf(id).id]).toEqual([id, id, id]);
  }
  expect([ownMetricNamed('qps'), ownMetricNamed('speed')]).toEqual(['throughputQps', undefined]);
});

test('limits take words, ids and ids without a unit, and the names of a harness', () => {
  const names = metricNames(['ttft:lower:ms']);
  const asked = ['p99', 'p99Ms', 'build-time', 'build', 'buildS', 'host-bound', 'hostBound', 'sqnr', 'ttft'];
  const line = 'p99Ms p99Ms buildS buildS buildS hostBoundPercent hostBoundPercent sqnrDb ttft:lower:ms';
  expect(asked.map((name) => names.get(name)).join(' ')).toBe(line);
});

test('one stream is judged by GPU time, several by throughput, whatever is asked for first', () => {
  const metrics = [1, 2, 8].map((streams) => gateMetric(null, { streams }));
  expect(metrics).toEqual(['gpuComputeMs', 'throughputQps', 'throughputQps']);
  expect(gateMetric('p99Ms', { streams: 2 })).toBe('p99Ms');
});

// `npm run check` compiles this file: without an error on the marked lines, it fails.
test('ids of different things are different types; plain text fits each', () => {
  const sweepId: SweepId = 'a'.repeat(32);
  const runId: RunId = 'b'.repeat(32);
  // @ts-expect-error: a sweep is not a run
  const wrongRun: RunId = sweepId;
  // @ts-expect-error: a run is not a cell
  const wrongCell: CellKey = runId;
  // @ts-expect-error: a run is not a build
  const wrongBuild: BuildId = runId;
  expect([wrongRun, wrongCell, wrongBuild]).toEqual([sweepId, runId, runId]);
});
