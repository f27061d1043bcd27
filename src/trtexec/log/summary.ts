import { type Measurement, TIMED_METRICS, type TimedMetric, type TimeStatistics } from '../../records/measurement.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import { NUMBER, parseStreamNumber } from './printed-values.ts';

/** The report's numbers while they are read. `layout` 7 has headings instead of one line per metric. */
export interface SummaryDraft {
  throughputQps?: number;
  hostWalltimeS?: number;
  gpuTotalS?: number;
  readonly metrics: Partial<Record<TimedMetric, StatisticsDraft>>;
  /** The heading that bare `min:` and `max:` lines of TensorRT 7 belong to. */
  heading?: TimedMetric;
}

const FIELD_NAMES = ['min', 'max', 'mean', 'median'] as const;

interface StatisticsDraft {
  min?: number;
  max?: number;
  mean?: number;
  median?: number;
  readonly percentiles: Record<string, number>;
}

export function emptySummary(): SummaryDraft {
  return { metrics: {} };
}

/** What the line of a metric begins with. */
export const METRIC_NAMES: Readonly<Record<TimedMetric, string>> = {
  latencyMs: 'Latency',
  enqueueMs: 'Enqueue Time',
  h2dMs: 'H2D Latency',
  gpuComputeMs: 'GPU Compute Time',
  d2hMs: 'D2H Latency',
};

const FIELD = new RegExp(`(min|max|mean|median) = (${NUMBER}) ms`, 'g');
const PERCENTILE = new RegExp(`percentile\\((${NUMBER})%\\) = (${NUMBER}) ms`, 'g');
const TOTALS = [
  ['throughputQps', new RegExp(`^[Tt]hroughput: (${NUMBER}) qps`)],
  ['hostWalltimeS', new RegExp(`^(?:Total Host Walltime|walltime): (${NUMBER}) s`)],
  ['gpuTotalS', new RegExp(`^(?:Total GPU Compute Time|total compute time): (${NUMBER}) s`)],
] as const;

const HEADINGS_7: Readonly<Record<string, TimedMetric>> = {
  'Host Latency': 'latencyMs',
  'Host latency': 'latencyMs',
  'Enqueue Time': 'enqueueMs',
  'GPU Compute': 'gpuComputeMs',
};
const BARE_FIELD = new RegExp(`^(min|max|mean|median): (${NUMBER}) ms`);
const BARE_PERCENTILE = new RegExp(`^percentile: (${NUMBER}) ms at (${NUMBER})%`);

/** Takes one line of a performance report, of any version from 7.0 to 11.x; false for any other line. */
export function readSummaryLine(draft: SummaryDraft, text: string): boolean {
  const metric = TIMED_METRICS.find((each) => text.startsWith(`${METRIC_NAMES[each]}: `));
  if (metric === undefined) return readTotal(draft, text) || readLayout7(draft, text);
  draft.metrics[metric] = statisticsOfLine(text);
  return true;
}

function statisticsOfLine(text: string): StatisticsDraft {
  const draft: StatisticsDraft = { percentiles: {} };
  for (const [, field, value] of text.matchAll(FIELD)) {
    if (isOneOf(FIELD_NAMES, field)) draft[field] = printedNumber(value ?? '');
  }
  for (const [, percent, value] of text.matchAll(PERCENTILE)) {
    draft.percentiles[String(parseStreamNumber(percent ?? ''))] = printedNumber(value ?? '');
  }
  return draft;
}

/** No stream prints a zero before other digits: a decimal point was lost. */
const NO_STREAM_NUMBER = /^[-+]?0\d/;

function printedNumber(text: string): number {
  return NO_STREAM_NUMBER.test(text) ? Number.NaN : parseStreamNumber(text);
}

function readTotal(draft: SummaryDraft, text: string): boolean {
  for (const [total, pattern] of TOTALS) {
    const value = pattern.exec(text)?.[1];
    if (value === undefined) continue;
    draft[total] = parseStreamNumber(value);
    return true;
  }
  return false;
}

function readLayout7(draft: SummaryDraft, text: string): boolean {
  const heading = HEADINGS_7[text];
  if (heading !== undefined) {
    draft.heading = heading;
    draft.metrics[heading] = { percentiles: {} };
    return true;
  }
  const statistics = draft.heading === undefined ? undefined : draft.metrics[draft.heading];
  if (statistics === undefined) return false;
  const field = BARE_FIELD.exec(text);
  const name = field?.[1];
  if (field !== null && isOneOf(FIELD_NAMES, name)) {
    statistics[name] = parseStreamNumber(field[2] ?? '');
    return true;
  }
  const percentile = BARE_PERCENTILE.exec(text);
  if (percentile === null) return false;
  const percent = String(parseStreamNumber(percentile[2] ?? ''));
  statistics.percentiles[percent] = parseStreamNumber(percentile[1] ?? '');
  return true;
}

/** Null if incomplete or not finite. TensorRT 7 prints 0 qps for dynamic shapes: recomputed from `queries`. */
export function finishSummary(draft: SummaryDraft, queries: number | null): Measurement | null {
  const { hostWalltimeS } = draft;
  // One of its last lines: until it is read, nothing else is looked at.
  if (hostWalltimeS === undefined || !Number.isFinite(hostWalltimeS)) return null;
  const latencyMs = finishStatistics(draft.metrics.latencyMs);
  const gpuComputeMs = finishStatistics(draft.metrics.gpuComputeMs);
  if (latencyMs === null || gpuComputeMs === null) return null;
  const throughputQps =
    draft.throughputQps === 0 && queries !== null && hostWalltimeS > 0 ? queries / hostWalltimeS : draft.throughputQps;
  if (throughputQps === undefined || !Number.isFinite(throughputQps)) return null;
  return {
    throughputQps,
    latencyMs,
    enqueueMs: finishStatistics(draft.metrics.enqueueMs),
    h2dMs: transferOrNull(finishStatistics(draft.metrics.h2dMs)),
    gpuComputeMs,
    d2hMs: transferOrNull(finishStatistics(draft.metrics.d2hMs)),
    hostWalltimeS,
    gpuTotalS: draft.gpuTotalS !== undefined && Number.isFinite(draft.gpuTotalS) ? draft.gpuTotalS : null,
  };
}

export function finishStatistics(draft: StatisticsDraft | undefined): TimeStatistics | null {
  if (draft === undefined) return null;
  const { min, max, mean, median, percentiles } = draft;
  if (min === undefined || max === undefined || median === undefined) return null;
  if (![min, max, median, mean ?? 0].every(Number.isFinite)) return null;
  const finite = Object.entries(percentiles).filter(([, value]) => Number.isFinite(value));
  return { min, max, mean: mean ?? null, median, percentiles: Object.fromEntries(finite) };
}

/** With data transfers off trtexec prints zeros: zero means "not measured". */
function transferOrNull(statistics: TimeStatistics | null): TimeStatistics | null {
  return statistics !== null && statistics.max === 0 && statistics.min === 0 ? null : statistics;
}
