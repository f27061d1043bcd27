import * as z from 'zod';

import { type Metric, type MetricId, metricOf, metricSchema } from './metric.ts';
import { count, type Immutable } from './scalars.ts';

const CAUSE_KINDS = [
  'tactics',
  'fusion',
  'precision',
  'sameKernel',
  'engineBuild',
  'clocks',
  'powerLimit',
  'thermal',
  'enqueueBound',
  'hostBound',
  'transfers',
  'graphNotCaptured',
  'contention',
  'environment',
  'model',
  'options',
  'inputs',
] as const;

export const causeSchema = z.strictObject({
  kind: z.enum(CAUSE_KINDS),
  certainty: z.enum(['shown', 'likely', 'possible']).describe('How well the evidence supports it'),
  title: z.string(),
  evidence: z.array(z.string()),
  explainsPercent: z
    .number()
    .nullable()
    .describe('Share of the change; above 100 if other layers gained time; null if unknown'),
  gainedPercent: z.number().nullable().describe('Share that other layers gained, if sharePercent is above 100'),
  /** How to confirm the cause, or a command that does. */
  confirm: z.string(),
  rank: z.number().describe('Strength of the suspicion, up to 100'),
});

export type Cause = Immutable<z.infer<typeof causeSchema>>;

export const firstCauseSchema = causeSchema.omit({ evidence: true, confirm: true, rank: true });

export type FirstCause = Immutable<z.infer<typeof firstCauseSchema>>;

export const EXPLAINED_METRICS = [
  'gpuComputeMs',
  'throughputQps',
  'latencyMs',
  'gpuComputeMeanMs',
  'enqueueMs',
] as const;

/** Any metric may be the one that a change is about; causes are known of these. */
export type ExplainedMetric = (typeof EXPLAINED_METRICS)[number] | MetricId;

export function explainedMetricOf(metric: ExplainedMetric): Metric {
  const isMean = metric === 'gpuComputeMeanMs';
  return isMean ? { ...metricOf('gpuComputeMs'), label: 'mean GPU compute time' } : metricOf(metric);
}

export const valueChangeSchema = z.strictObject({
  metric: z.union([z.enum(EXPLAINED_METRICS), metricSchema]),
  base: z.number(),
  head: z.number(),
  changePercent: z.number(),
  ciPercent: z.tuple([z.number(), z.number()]).nullable(),
  runs: z.tuple([count, count]),
  isReal: z.boolean(),
  /** True if the runs are too noisy to decide. */
  isUnclear: z.boolean(),
  leastPercent: z
    .number()
    .describe('The detectable effect: the smallest change that would have been found nine times in ten'),
  /** The evidence for it. */
  basis: z.string(),
});

export type ValueChange = Immutable<z.infer<typeof valueChangeSchema>>;
