import * as z from 'zod';

import { printable } from '../text/printable.ts';

/** What runs can be compared by. The direction of "worse" belongs to the metric. */
export interface Metric {
  readonly id: MetricId;
  readonly label: string;
  /** One of bench's own, or what a harness calls it: from outside. */
  readonly unit: string;
  readonly betterIs: Direction;
}

export const DIRECTIONS = ['lower', 'higher'] as const;

export type Direction = (typeof DIRECTIONS)[number];

export const METRIC_IDS = [
  'gpuComputeMs',
  'latencyMs',
  'throughputQps',
  'p99Ms',
  'enqueueMs',
  'buildS',
  'engineMib',
  'contextMib',
  'memoryMib',
  'loadS',
  'refitMs',
  'outputErrorPercent',
] as const;

export type OwnMetricId = (typeof METRIC_IDS)[number];

/**
 * A number that only its harness knows: `ttft:lower:ms`. Its unit and direction are in its name, so that a change of
 * them is another metric.
 */
export type CustomMetricId = `${string}:${Direction}:${string}`;

export type MetricId = OwnMetricId | CustomMetricId;

export const metricSchema = z
  .union([z.enum(METRIC_IDS), z.templateLiteral([z.string(), ':', z.enum(DIRECTIONS), ':', z.string()])])
  .describe('One of bench, or NAME:lower|higher:UNIT of another harness');

/** The values of a run; of another harness it may have only those of its own. */
export type MetricValues = Readonly<Record<OwnMetricId, number | null>> &
  Readonly<Partial<Record<CustomMetricId, number>>>;

const lower = (id: OwnMetricId, label: string, unit: string): Metric => ({ id, label, unit, betterIs: 'lower' });

/** To add a metric: one line here, its column in `src/store/cell-runs.ts`. */
const METRICS: Readonly<Record<OwnMetricId, Metric>> = {
  gpuComputeMs: lower('gpuComputeMs', 'GPU compute time', 'ms'),
  latencyMs: lower('latencyMs', 'latency', 'ms'),
  throughputQps: { id: 'throughputQps', label: 'throughput', unit: 'qps', betterIs: 'higher' },
  p99Ms: lower('p99Ms', 'latency p99', 'ms'),
  enqueueMs: lower('enqueueMs', 'enqueue time', 'ms'),
  buildS: lower('buildS', 'build time', 's'),
  engineMib: lower('engineMib', 'engine size', 'MiB'),
  contextMib: lower('contextMib', 'context memory', 'MiB'),
  memoryMib: lower('memoryMib', 'GPU memory', 'MiB'),
  loadS: lower('loadS', 'engine load time', 's'),
  refitMs: lower('refitMs', 'refit time', 'ms'),
  outputErrorPercent: lower('outputErrorPercent', 'output error', '%'),
};

/** A build has one value of these, however often its engine is run. */
const OF_BUILDS: readonly MetricId[] = ['buildS', 'engineMib', 'refitMs'];

export function isOfBuild(metric: MetricId): boolean {
  return OF_BUILDS.includes(metric);
}

export function isOwnMetric(id: string): id is OwnMetricId {
  return METRIC_IDS.some((own) => own === id);
}

const CUSTOM = /^([A-Za-z][\w.-]{0,59}):(lower|higher):([^\s:\p{C}]{1,20})$/u;

export function isCustomMetric(id: string): id is CustomMetricId {
  return CUSTOM.test(id);
}

export function isMetric(id: string): id is MetricId {
  return isOwnMetric(id) || isCustomMetric(id);
}

/** A name of letters, digits and `_.-`, a unit without spaces and colons. */
export function customMetric(name: string, betterIs: Direction, unit: string): CustomMetricId {
  return `${name}:${betterIs}:${unit}`;
}

export function metricOf(id: MetricId): Metric {
  if (isOwnMetric(id)) return METRICS[id];
  const [, label = printable(id), betterIs, unit = ''] = CUSTOM.exec(id) ?? [];
  return { id, label, unit, betterIs: betterIs === 'higher' ? 'higher' : 'lower' };
}

/** With several streams latencies overlap and only throughput says anything. */
export function gateMetric(
  asked: MetricId | null,
  cell: { readonly streams: number; readonly harness?: { readonly metric: MetricId } },
): MetricId {
  return asked ?? cell.harness?.metric ?? (cell.streams > 1 ? 'throughputQps' : 'gpuComputeMs');
}
