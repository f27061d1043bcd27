import { TIMED_METRICS, type TimedMetric, type TimeStatistics } from '../../records/measurement.ts';
import type { TensorrtVersion } from '../../text/version.ts';
import type { TraceAverages } from './parsed-log.ts';
import { isSameCount } from './batch.ts';
import { finishStatistics, METRIC_NAMES, type SummaryDraft } from './summary.ts';

export interface LoggedNumbers {
  readonly draft: SummaryDraft;
  /** From the timing trace; null if it was not printed. */
  readonly queries: number | null;
  readonly traceWalltimeS: number | null;
  readonly trace: TraceAverages | null;
  readonly version: TensorrtVersion | null;
}

type Statistics = Readonly<Partial<Record<TimedMetric, TimeStatistics>>>;

const STATISTICS = ['min', 'max', 'mean', 'median'] as const;

/** Relative: numbers are printed with six digits. */
const PRINTED = 1e-4;
/** In milliseconds: when comparing outputs, 11.1 prints the trace with six decimals. */
const PRINTED_MS = 1e-6;
/** Relative, per query: trtexec sums means in float32. In 376 recordings they differ by 0.002 % at most. */
const SUMMED = 3e-8;

/** Null if none. Finds lost bytes and foreign text. A missing number contradicts nothing, unless always printed. */
export function contradictionIn(logged: LoggedNumbers): string | null {
  const statistics = statisticsOf(logged.draft);
  return (
    lackingLine(logged, statistics) ??
    disorder(statistics) ??
    wrongSum(statistics, toleranceOf(logged)) ??
    wrongCount(logged, statistics) ??
    wrongTrace(logged, statistics)
  );
}

function toleranceOf({ queries, draft }: LoggedNumbers): number {
  const counted = queries ?? (draft.throughputQps ?? 0) * (draft.hostWalltimeS ?? 0);
  return PRINTED + SUMMED * counted;
}

function statisticsOf({ metrics }: SummaryDraft): Statistics {
  return Object.fromEntries(
    TIMED_METRICS.flatMap((metric) => {
      const finished = finishStatistics(metrics[metric]);
      return finished === null ? [] : [[metric, finished]];
    }),
  );
}

/** From 8.0 on all lines of a summary are always printed. */
const COMPLETE_SINCE = 8;

function lackingLine({ draft, version }: LoggedNumbers, found: Statistics): string | null {
  if ((version?.major ?? 0) < COMPLETE_SINCE) return null;
  const lacking = TIMED_METRICS.find((metric) => (found[metric]?.mean ?? null) === null);
  if (lacking !== undefined) return `its summary has no complete line "${METRIC_NAMES[lacking]}"`;
  if (draft.gpuTotalS === undefined) return 'its summary has no "Total GPU Compute Time"';
  const printed = TIMED_METRICS.map((metric) => Object.keys(found[metric]?.percentiles ?? {}).join(', '));
  const other = printed.findIndex((list) => list !== printed[0]);
  if (other !== -1) return `its lines have other percentiles: ${printed[0]} and ${printed[other]}`;
  return null;
}

/** From here on the percentile at index n - 1 - trunc((1 - p) n) is never below the median, for any n. */
const UPPER_PERCENT = 75;

function disorder(found: Statistics): string | null {
  for (const metric of TIMED_METRICS) {
    const one = found[metric];
    if (one === undefined) continue;
    const { min, max, mean, median, percentiles } = one;
    const ordered = Object.entries(percentiles)
      .map(([percent, value]) => ({ percent: Number(percent), value }))
      .toSorted((a, b) => a.percent - b.percent);
    const upper = ordered.filter(({ percent }) => percent >= UPPER_PERCENT);
    const rising = [
      { name: 'min', value: min },
      { name: 'median', value: median },
      ...upper.map(({ percent, value }) => ({ name: `percentile(${percent}%)`, value })),
      { name: 'max', value: max },
    ];
    const chains = [
      rising,
      ordered.map(({ percent, value }) => ({ name: `percentile(${percent}%)`, value })),
      [
        { name: 'min', value: min },
        { name: 'mean', value: mean ?? median },
        { name: 'max', value: max },
      ],
    ];
    for (const chain of chains) {
      const wrong = chain.findIndex(({ value }, index) => value < (chain[index - 1]?.value ?? 0) * (1 - PRINTED));
      const [low, high] = [chain[wrong - 1], chain[wrong]];
      if (high === undefined) continue;
      return low === undefined
        ? `the ${high.name} of ${METRIC_NAMES[metric]} is ${high.value} ms`
        : `the ${low.name} of ${METRIC_NAMES[metric]} is ${low.value} ms, its ${high.name} ${high.value} ms`;
    }
  }
  return null;
}

/** The latency of a query is defined as the sum of its three parts. */
function wrongSum({ latencyMs, h2dMs, gpuComputeMs, d2hMs }: Statistics, tolerance: number): string | null {
  if (latencyMs === undefined || gpuComputeMs === undefined) return null;
  // TensorRT 7 prints no copies.
  if (h2dMs === undefined || d2hMs === undefined) {
    return aboveLatency(latencyMs, gpuComputeMs, tolerance);
  }
  const parts = [h2dMs, gpuComputeMs, d2hMs];
  for (const name of ['min', 'median', 'max'] as const) {
    const largest = Math.max(...parts.map((part) => part[name]));
    if (largest <= latencyMs[name] * (1 + PRINTED)) continue;
    return `the ${name} latency of ${latencyMs[name]} ms is less than a part of it (${largest} ms)`;
  }
  const isAlone = h2dMs.max === 0 && d2hMs.max === 0;
  for (const name of STATISTICS) {
    const whole = latencyMs[name];
    const sum = parts.reduce((total, part) => total + (part[name] ?? Number.NaN), 0);
    if (whole === null || Number.isNaN(sum)) continue;
    const isExact = name === 'mean' || isAlone;
    const tooHigh = (isExact || name === 'max') && whole > sum * (1 + tolerance);
    const tooLow = (isExact || name === 'min') && whole < sum * (1 - tolerance);
    if (!tooHigh && !tooLow) continue;
    return `the ${name} latency of ${whole} ms is not the sum of its parts (${Number(sum.toPrecision(6))} ms)`;
  }
  return null;
}

function aboveLatency(latencyMs: TimeStatistics, gpuComputeMs: TimeStatistics, tolerance: number): string | null {
  const [whole, part] = [latencyMs.mean, gpuComputeMs.mean];
  return whole === null || part === null || part <= whole * (1 + tolerance)
    ? null
    : `the mean GPU compute time of ${part} ms is more than the mean latency of ${whole} ms`;
}

function wrongCount(logged: LoggedNumbers, found: Statistics): string | null {
  const { draft, queries, traceWalltimeS } = logged;
  const { throughputQps, hostWalltimeS, gpuTotalS } = draft;
  if (hostWalltimeS === undefined || throughputQps === undefined) return null;
  if (traceWalltimeS !== null && differs(traceWalltimeS, hostWalltimeS)) {
    return `the timing trace covers ${traceWalltimeS} s, the summary ${hostWalltimeS} s`;
  }
  const counted = queries ?? throughputQps * hostWalltimeS;
  // TensorRT 7 prints 0 for dynamic shapes.
  if (throughputQps !== 0 && !isSameCount(throughputQps * hostWalltimeS, counted)) {
    return `${throughputQps} qps over ${hostWalltimeS} s are not the ${counted} queries of the timing trace`;
  }
  const mean = found.gpuComputeMs?.mean ?? null;
  if (gpuTotalS === undefined || mean === null || throughputQps === 0) return null;
  return !isSameCount((1000 * gpuTotalS) / mean, counted)
    ? `${Number(counted.toPrecision(6))} queries of ${mean} ms are not a total GPU compute time of ${gpuTotalS} s`
    : null;
}

function differs(a: number, b: number): boolean {
  return Math.abs(a - b) > PRINTED * Math.max(Math.abs(a), Math.abs(b));
}

/** Each trace line is the mean of a group of queries; queries without a line are between minimum and maximum. */
function wrongTrace(logged: LoggedNumbers, found: Statistics): string | null {
  const { trace, queries } = logged;
  const tolerance = toleranceOf(logged);
  if (trace === null) return null;
  const columns = [
    ['gpuComputeMs', trace.gpuMs],
    ['latencyMs', trace.hostMs],
    ['enqueueMs', trace.enqueueMs],
  ] as const;
  for (const [metric, groups] of columns) {
    const one = found[metric];
    if (one === undefined || groups.length === 0) continue;
    const odd = groups.find(
      (value) => value < one.min * (1 - PRINTED) - PRINTED_MS || value > one.max * (1 + PRINTED) + PRINTED_MS,
    );
    if (odd !== undefined) {
      return `a line of the trace gives ${odd} ms for ${METRIC_NAMES[metric]}, the summary ${one.min} to ${one.max} ms`;
    }
    const rest = queries === null ? -1 : queries - groups.length * trace.groupSize;
    if (rest < 0 || queries === null || one.mean === null) continue;
    const sum = groups.reduce((total, value) => total + value, 0) * trace.groupSize;
    const outlier = Math.max(
      trace.groupSize * Math.max(...groups) - (trace.groupSize - 1) * one.min,
      queries * one.mean * (1 + tolerance) - sum - (rest - 1) * one.min,
    );
    if (one.max > outlier * (1 + PRINTED) + trace.groupSize * PRINTED_MS) {
      return `the max of ${METRIC_NAMES[metric]} is ${one.max} ms; with the lines of the trace it is ${Number(outlier.toPrecision(4))} ms at most`;
    }
    const low = (sum + rest * one.min) / queries;
    const high = (sum + rest * one.max) / queries;
    if (one.mean < low * (1 - tolerance) - PRINTED_MS || one.mean > high * (1 + tolerance) + PRINTED_MS) {
      return `the mean of ${METRIC_NAMES[metric]}, ${one.mean} ms, is not that of the trace (${Number(low.toPrecision(4))} to ${Number(high.toPrecision(4))} ms)`;
    }
  }
  return null;
}
