import type { Excerpt, Measurement, PartialStatistics, TimedMetric, TimeStatistics } from '../../records/harness.ts';
import { TIMED_METRICS } from '../../records/harness.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import type { LayerProfile, LayerTime } from '../../records/layer-info.ts';
import { parseStreamNumber, printedPattern } from './printed-facts.ts';

const FIELD_NAMES = ['min', 'max', 'mean', 'median'] as const;

type StatisticsDraft = Partial<Record<(typeof FIELD_NAMES)[number], number>> & {
  readonly percentiles: Record<string, number>;
};

/** The first words of a metric's line. */
export const METRIC_NAMES: Readonly<Record<TimedMetric, string>> = {
  latencyMs: 'Latency',
  enqueueMs: 'Enqueue Time',
  h2dMs: 'H2D Latency',
  gpuComputeMs: 'GPU Compute Time',
  d2hMs: 'D2H Latency',
};

const FIELD = printedPattern('(min|max|mean|median) = (N) ms', 'g');
const PERCENTILE = printedPattern('percentile\\((N)%\\) = (N) ms', 'g');
const TOTALS = [
  ['throughputQps', printedPattern('[Tt]hroughput: (N) qps')],
  ['hostWalltimeS', printedPattern('(?:Total Host Walltime|walltime): (N) s')],
  ['gpuTotalS', printedPattern('(?:Total GPU Compute Time|total compute time): (N) s')],
] as const;

/** TensorRT 7 has headings instead of one line per metric. */
const HEADINGS_7: Readonly<Record<string, TimedMetric>> = {
  'Host Latency': 'latencyMs',
  'Host latency': 'latencyMs',
  'Enqueue Time': 'enqueueMs',
  'GPU Compute': 'gpuComputeMs',
};
const BARE_FIELD = printedPattern('(min|max|mean|median): (N) ms');
const BARE_PERCENTILE = printedPattern('percentile: (N) ms at (N)%');
/** No stream prints a zero before other digits: a decimal point was lost. */
const NO_STREAM_NUMBER = /^[-+]?0\d/;

function printedNumber(text = ''): number {
  return NO_STREAM_NUMBER.test(text) ? Number.NaN : parseStreamNumber(text);
}

/** The numbers of the report while they are being read. */
export class Summary {
  private readonly totals: Partial<Record<(typeof TOTALS)[number][0], number>> = {};
  private readonly metrics: Partial<Record<TimedMetric, StatisticsDraft>> = {};
  /** The metric to which bare `min:` and `max:` lines of TensorRT 7 belong. */
  private heading: TimedMetric | undefined;

  /** Takes one line of a performance report, of any version from 7.0 to 11.x; false for any other line. */
  read(text: string): boolean {
    const metric = TIMED_METRICS.find((each) => text.startsWith(`${METRIC_NAMES[each]}: `));
    if (metric === undefined) return this.readTotal(text) || this.readLayout7(text);
    const draft: StatisticsDraft = (this.metrics[metric] = { percentiles: {} });
    for (const [, field, value] of text.matchAll(FIELD))
      if (isOneOf(FIELD_NAMES, field)) draft[field] = printedNumber(value);
    for (const [, percent = '', value] of text.matchAll(PERCENTILE)) {
      draft.percentiles[parseStreamNumber(percent)] = printedNumber(value);
    }
    return true;
  }

  private readTotal(text: string): boolean {
    for (const [total, pattern] of TOTALS) {
      const value = pattern.exec(text)?.[1];
      if (value === undefined) continue;
      this.totals[total] = parseStreamNumber(value);
      this.endBlock();
      return true;
    }
    return false;
  }

  private readLayout7(text: string): boolean {
    const heading = HEADINGS_7[text.trimEnd()];
    if (heading !== undefined) {
      this.heading = heading;
      this.metrics[heading] = { percentiles: {} };
      return true;
    }
    const [, name, value = ''] = BARE_FIELD.exec(text) ?? [];
    const [, percentileMs, percent = ''] = BARE_PERCENTILE.exec(text) ?? [];
    if (name === undefined && percentileMs === undefined) return false;
    const statistics = this.heading === undefined ? undefined : this.metrics[this.heading];
    // A line out of order belongs to a heading that was lost.
    if (statistics === undefined || isBefore(name, statistics)) this.endBlock();
    else if (isOneOf(FIELD_NAMES, name)) statistics[name] = parseStreamNumber(value);
    else statistics.percentiles[parseStreamNumber(percent)] = parseStreamNumber(percentileMs ?? '');
    return true;
  }

  /** Ends the block of a heading: the lines that follow have another one. */
  endBlock(): void {
    this.heading = undefined;
  }

  /** Null if incomplete or not finite. */
  finish(): Measurement | null {
    // The wall time is among the last lines: until it is read, the rest need not be checked.
    if (this.totals.hostWalltimeS === undefined) return null;
    const { throughputQps, hostWalltimeS, gpuTotalS, ...metrics } = this.numbers();
    if (throughputQps === null || hostWalltimeS === null) return null;
    const [latencyMs, gpuComputeMs] = [wholeOrNone(metrics.latencyMs), wholeOrNone(metrics.gpuComputeMs)];
    if (latencyMs === null || gpuComputeMs === null) return null;
    const [enqueueMs, h2dMs, d2hMs] = [metrics.enqueueMs, metrics.h2dMs, metrics.d2hMs].map(wholeOrNone);
    const others = { enqueueMs: enqueueMs ?? null, h2dMs: h2dMs ?? null, d2hMs: d2hMs ?? null };
    return { throughputQps, latencyMs, gpuComputeMs, ...others, hostWalltimeS, gpuTotalS };
  }

  /** What there is of a summary; null if it has no number. */
  excerpt(): Excerpt | null {
    const numbers = this.numbers();
    return Object.values(numbers).some((number) => number !== null) ? numbers : null;
  }

  /** Whole lines as they are printed. */
  printed(): Readonly<Partial<Record<TimedMetric, TimeStatistics>>> {
    const lines = TIMED_METRICS.map(
      (metric) => [metric, wholeOrNone(partialStatistics(this.metrics[metric]))] as const,
    );
    return Object.fromEntries(lines.filter(([, statistics]) => statistics !== null));
  }

  /** The numbers as they are measured. With data transfers off trtexec prints zeros: zero means "not measured". */
  private numbers(): Excerpt {
    const { throughputQps, hostWalltimeS, gpuTotalS } = this.totals;
    const { latencyMs, enqueueMs, h2dMs, gpuComputeMs, d2hMs } = this.metrics;
    return {
      throughputQps: finiteOrNone(throughputQps),
      hostWalltimeS: finiteOrNone(hostWalltimeS),
      gpuTotalS: finiteOrNone(gpuTotalS),
      latencyMs: partialStatistics(latencyMs),
      enqueueMs: partialStatistics(enqueueMs),
      h2dMs: isCopied(h2dMs) ? partialStatistics(h2dMs) : null,
      gpuComputeMs: partialStatistics(gpuComputeMs),
      d2hMs: isCopied(d2hMs) ? partialStatistics(d2hMs) : null,
    };
  }
}

function isCopied(draft: StatisticsDraft | undefined): boolean {
  return draft?.max !== 0 || draft.min !== 0;
}

/**
 * The lines of a block come in a fixed order. A field that was already read, or that should come before one, is not of
 * this block.
 */
function isBefore(name: string | undefined, statistics: StatisticsDraft): boolean {
  const place = FIELD_NAMES.findIndex((field) => field === name);
  if (place === -1) return false;
  const later = FIELD_NAMES.slice(place).some((field) => statistics[field] !== undefined);
  return later || Object.keys(statistics.percentiles).length > 0;
}

function partialStatistics({ percentiles, ...draft }: StatisticsDraft = { percentiles: {} }): PartialStatistics | null {
  const finite = Object.entries(percentiles).filter(([, value]) => Number.isFinite(value));
  const [min, max] = [finiteOrNone(draft.min), finiteOrNone(draft.max)];
  const [mean, median] = [finiteOrNone(draft.mean), finiteOrNone(draft.median)];
  if (min === null && max === null && mean === null && median === null && finite.length === 0) return null;
  return { min, max, mean, median, percentiles: Object.fromEntries(finite) };
}

function finiteOrNone(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

/** Null if a number is missing; TensorRT 7 may print no mean. */
function wholeOrNone(statistics: PartialStatistics | null): TimeStatistics | null {
  const { min = null, max = null, median = null, mean = null, percentiles = {} } = statistics ?? {};
  return min === null || max === null || median === null ? null : { min, max, mean, median, percentiles };
}

const PROFILE_HEADING = /^=== Profile \((\d+) iterations ?\) ===/;
const NAME_LAST = profilePattern(' *', ['time', 'average', 'median', 'percentage'], ' {3}(?<name>.*)$');
const NAME_FIRST_MEDIAN = profilePattern(' *(?<name>.*?) +', ['time', 'average', 'median', 'percentage'], '$');
const NAME_FIRST = profilePattern(' *(?<name>.*?) +', ['time', 'average', 'percentage'], '$');

function profilePattern(before: string, names: readonly string[], behind: string): RegExp {
  return printedPattern(before + names.map((name) => `(?<${name}>(?:N))`).join(' +') + behind);
}

/** Rows are rounded to four decimals. If their sum is below this share of the total, some are missing. */
const LEAST_LISTED = 0.98;

/** The table of layers that trtexec prints. */
export class ProfileTable {
  private readonly iterations: number;
  /** Null before the column heading. */
  private layout: RegExp | null = null;
  private readonly layers: LayerTime[] = [];
  /** The last row, which is not a layer; null until it is read. */
  private total: Omit<LayerTime, 'index'> | null = null;

  private constructor(iterations: number) {
    this.iterations = iterations;
  }

  /** Starts a table at its heading; null for any other text. */
  static at(text: string): ProfileTable | null {
    const iterations = PROFILE_HEADING.exec(text)?.[1];
    return iterations === undefined ? null : new ProfileTable(Number(iterations));
  }

  /**
   * Takes one line. The layout is recognized by the column heading: name last from 8.6.1 on, name first with a median
   * (8.4, 8.5) or without (up to 8.2). Returns false when the table is over.
   */
  read(text: string): boolean {
    if (this.total !== null) return false;
    if (this.layout === null) {
      if (!text.includes('Layer')) return true;
      this.layout = /Layer\s*$/.test(text) ? NAME_LAST : text.includes('Median') ? NAME_FIRST_MEDIAN : NAME_FIRST;
      return true;
    }
    const groups = this.layout.exec(text)?.groups;
    if (groups === undefined) return true;
    const number = (name: string): number => parseStreamNumber(groups[name] ?? '');
    const row = {
      name: groups['name'] ?? '',
      timeMs: number('time'),
      averageMs: number('average'),
      medianMs: groups['median'] === undefined ? null : number('median'),
      percentage: number('percentage'),
    };
    if (row.name === 'Total') this.total = row;
    else this.layers.push({ index: this.layers.length, ...row });
    return true;
  }

  finish(): LayerProfile | null {
    const { iterations, layers, total } = this;
    if (layers.length === 0) return null;
    const sumMs = layers.reduce((sum, { averageMs }) => sum + averageMs, 0);
    const isExcerpt = total !== null && sumMs < total.averageMs * LEAST_LISTED;
    if (!isExcerpt) return { iterations, layers };
    const { timeMs, averageMs, medianMs } = total;
    return { iterations, layers, total: { timeMs, averageMs, medianMs } };
  }
}
