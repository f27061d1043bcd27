import type { MetricValues } from '../../src/records/metric.ts';

/** A run of which no metric is known. */
export const NO_VALUES: MetricValues = {
  gpuComputeMs: null,
  latencyMs: null,
  throughputQps: null,
  p99Ms: null,
  enqueueMs: null,
  buildS: null,
  engineMib: null,
  contextMib: null,
  memoryMib: null,
  loadS: null,
  refitMs: null,
  outputErrorPercent: null,
};
