import {
  type Excerpt,
  type Measurement,
  type PartialStatistics,
  TIMED_METRICS,
  type TimedMetric,
  type TimeStatistics,
} from '../../records/measurement.ts';
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
    endBlock(draft);
    return true;
  }
  return false;
}

function readLayout7(draft: SummaryDraft, text: string): boolean {
  const heading = HEADINGS_7[text.trimEnd()];
  if (heading !== undefined) {
    draft.heading = heading;
    draft.metrics[heading] = { percentiles: {} };
    return true;
  }
  const field = BARE_FIELD.exec(text);
  const percentile = field === null ? BARE_PERCENTILE.exec(text) : null;
  if (field === null && percentile === null) return false;
  const statistics = draft.heading === undefined ? undefined : draft.metrics[draft.heading];
  const name = field?.[1];
  // Out of order they belong to a heading that was lost.
  if (statistics === undefined || isBefore(name, statistics)) {
    delete draft.heading;
    return true;
  }
  if (field !== null && isOneOf(FIELD_NAMES, name)) statistics[name] = parseStreamNumber(field[2] ?? '');
  if (percentile !== null) {
    const percent = String(parseStreamNumber(percentile[2] ?? ''));
    statistics.percentiles[percent] = parseStreamNumber(percentile[1] ?? '');
  }
  return true;
}

/** Lines of a block are printed in one order: a field that was read, or one before it, is not of this block. */
function isBefore(name: string | undefined, statistics: StatisticsDraft): boolean {
  const place = FIELD_NAMES.findIndex((field) => field === name);
  if (place === -1) return false;
  const later = FIELD_NAMES.slice(place).some((field) => statistics[field] !== undefined);
  return later || Object.keys(statistics.percentiles).length > 0;
}

/** The end of a block: what follows has a heading of its own. */
export function endBlock(draft: SummaryDraft): void {
  delete draft.heading;
}

/** Null if incomplete or not finite. */
export function finishSummary(draft: SummaryDraft): Measurement | null {
  const { hostWalltimeS } = draft;
  // One of its last lines: until it is read, nothing else is looked at.
  if (hostWalltimeS === undefined || !Number.isFinite(hostWalltimeS)) return null;
  const latencyMs = finishStatistics(draft.metrics.latencyMs);
  const gpuComputeMs = finishStatistics(draft.metrics.gpuComputeMs);
  if (latencyMs === null || gpuComputeMs === null) return null;
  const { throughputQps } = draft;
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

/** What there is of a summary; null where there is no number. */
export function excerptOf(draft: SummaryDraft): Excerpt | null {
  const { gpuTotalS, hostWalltimeS, metrics, throughputQps } = draft;
  const totals = { throughputQps, hostWalltimeS, gpuTotalS };
  const times = TIMED_METRICS.map((metric) => [metric, partialStatistics(metrics[metric])] as const);
  const [latencyMs = null, enqueueMs = null, h2dMs = null, gpuComputeMs = null, d2hMs = null] = times.map(
    ([, statistics]) => statistics,
  );
  const known = Object.values(totals).filter((value) => value !== undefined);
  if (known.length === 0 && times.every(([, statistics]) => statistics === null)) return null;
  return {
    throughputQps: finiteOrNone(throughputQps),
    hostWalltimeS: finiteOrNone(hostWalltimeS),
    gpuTotalS: finiteOrNone(gpuTotalS),
    latencyMs,
    enqueueMs,
    h2dMs: transferOrNull(h2dMs),
    gpuComputeMs,
    d2hMs: transferOrNull(d2hMs),
  };
}

function partialStatistics(draft: StatisticsDraft | undefined): PartialStatistics | null {
  if (draft === undefined) return null;
  const { max, mean, median, min, percentiles } = draft;
  const finite = Object.entries(percentiles).filter(([, value]) => Number.isFinite(value));
  const numbers = [min, max, mean, median].map(finiteOrNone);
  const [least = null, most = null, average = null, middle = null] = numbers;
  if (numbers.every((number) => number === null) && finite.length === 0) return null;
  return { min: least, max: most, mean: average, median: middle, percentiles: Object.fromEntries(finite) };
}

function finiteOrNone(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
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
function transferOrNull<Statistics extends PartialStatistics>(statistics: Statistics | null): Statistics | null {
  return statistics !== null && statistics.max === 0 && statistics.min === 0 ? null : statistics;
}
