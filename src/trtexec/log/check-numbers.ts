import { type Measurement, TIMED_METRICS, type TimedMetric, type TimeStatistics } from '../../records/harness.ts';
import type { TensorrtVersion } from '../../text/version.ts';
import { finishStatistics, METRIC_NAMES, type Summary } from './report.ts';

/** What a run prints about its queries. */
interface PrintedCounts {
  /** From `--batch=N` and `Batch: N`; 0 for explicit batches of TensorRT 7, null if neither is printed. */
  readonly batch: number | null;
  /** From the timing trace. */
  readonly queries: number | null;
  readonly warmUpQueries: number | null;
  readonly measurement: Measurement | null;
}

/** Queries as executions of the whole batch, with a list of the numbers that are computed rather than printed. */
export interface CountedQueries extends Omit<PrintedCounts, 'batch'> {
  /** Formulas with their numbers, by the name of the computed value. */
  readonly derived: Readonly<Record<string, string>>;
  /** Images in a query; null if the shapes state it. */
  readonly imagesPerQuery: number | null;
  /** Both counts, if neither fits the times. */
  readonly contradiction: string | null;
}

/** Relative tolerance: numbers are printed with six digits. */
const PRINTED = 1e-4;

/** True if two counts differ by less than one query, or by no more than the printed digits allow. */
function isSameCount(a: number, b: number): boolean {
  return Math.abs(a - b) < Math.max(1, PRINTED * Math.max(a, b));
}

/**
 * Counts queries. With an implicit batch (TensorRT 7 to 8) trtexec counts images, which are divided by the batch if
 * that fits the total compute time over its mean. TensorRT 7 multiplies the counts of explicit batches by 0.
 */
export function countQueries(printed: PrintedCounts): CountedQueries {
  const { batch, measurement, queries } = printed;
  const timed = timedQueries(measurement);
  const counted = queries ?? (measurement === null ? null : measurement.throughputQps * measurement.hostWalltimeS);
  if (measurement !== null && timed === null) {
    // Without total and mean, queries look like images, and counts that were multiplied by 0 are lost.
    const known = queries === 0 ? { queries: null, warmUpQueries: null } : {};
    return { ...asPrinted({ ...printed, measurement: null }), ...known };
  }
  if (batch !== null && batch > 1 && timed !== null && counted !== null && !isSameCount(counted, timed.queries)) {
    if (isSameCount(counted / batch, timed.queries)) return perBatch(printed, batch);
    const both = `${shown(counted)} queries, or ${shown(counted / batch)} of batch ${batch}`;
    return { ...asPrinted(printed), contradiction: `${both}, do not fit ${timed.formula} = ${shown(timed.queries)}` };
  }
  if (timed === null || counted !== 0) return asPrinted(printed);
  // The number of warm-up queries was multiplied by 0, too, so it is unknown.
  const whole = asPrinted({ ...printed, queries: Math.round(timed.queries), warmUpQueries: null });
  return { ...whole, derived: { ...whole.derived, queries: timed.formula } };
}

function asPrinted({ measurement, queries, warmUpQueries }: Omit<PrintedCounts, 'batch'>): CountedQueries {
  const same = { queries, warmUpQueries, imagesPerQuery: null, contradiction: null };
  if (measurement?.throughputQps !== 0 || queries === null || queries <= 0 || measurement.hostWalltimeS <= 0) {
    return { ...same, measurement, derived: ofRate(queries, measurement, '') };
  }
  const { hostWalltimeS } = measurement;
  const derived = { throughputQps: `${queries} queries / ${hostWalltimeS} s` };
  return { ...same, measurement: { ...measurement, throughputQps: queries / hostWalltimeS }, derived };
}

function perBatch({ measurement, queries, warmUpQueries }: PrintedCounts, batch: number): CountedQueries {
  const divided = (value: number | null): number | null => (value === null ? null : value / batch);
  const images = { queries, warmUpQueries, throughputQps: measurement?.throughputQps ?? null };
  const formulas = Object.entries(images).flatMap(([name, value]) =>
    value === null ? [] : [[name, `${value} images / batch ${batch}`]],
  );
  return {
    measurement: measurement === null ? null : { ...measurement, throughputQps: measurement.throughputQps / batch },
    queries: divided(queries),
    warmUpQueries: divided(warmUpQueries),
    derived: { ...Object.fromEntries(formulas), ...ofRate(queries, measurement, ` / batch ${batch}`) },
    imagesPerQuery: batch,
    contradiction: null,
  };
}

/** Without the line of the timing trace, the count follows from the rate. */
function ofRate(queries: number | null, measurement: Measurement | null, by: string): CountedQueries['derived'] {
  if (queries !== null || measurement === null) return {};
  return { queries: `${measurement.throughputQps} qps × ${measurement.hostWalltimeS} s${by}` };
}

function timedQueries(measurement: Measurement | null): { readonly queries: number; readonly formula: string } | null {
  const { gpuTotalS = null, gpuComputeMs } = measurement ?? {};
  const mean = gpuComputeMs?.mean ?? 0;
  if (gpuTotalS === null || mean <= 0) return null;
  return { queries: (1000 * gpuTotalS) / mean, formula: `${gpuTotalS} s / ${mean} ms` };
}

function shown(value: number, digits = 6): number {
  return Number(value.toPrecision(digits));
}

interface LoggedNumbers {
  readonly draft: Pick<Summary, 'gpuTotalS' | 'hostWalltimeS' | 'metrics' | 'throughputQps'>;
  /** From the timing trace; null if it was not printed. */
  readonly queries: number | null;
  readonly traceWalltimeS: number | null;
  readonly version: TensorrtVersion | null;
}

type Statistics = Readonly<Partial<Record<TimedMetric, TimeStatistics>>>;

/** Relative tolerance per query: trtexec sums means in float32. In 376 recordings they differ by 0.002 % at most. */
const SUMMED = 3e-8;

/**
 * The first contradiction between the printed numbers; null if there is none. It reveals lost bytes and foreign text. A
 * missing number contradicts nothing, unless it is always printed.
 */
export function contradictionIn(logged: LoggedNumbers): string | null {
  const { draft, queries } = logged;
  const statistics: Statistics = Object.fromEntries(
    TIMED_METRICS.flatMap((metric) => {
      const finished = finishStatistics(draft.metrics[metric]);
      return finished === null ? [] : [[metric, finished]];
    }),
  );
  const tolerance = PRINTED + SUMMED * (queries ?? (draft.throughputQps ?? 0) * (draft.hostWalltimeS ?? 0));
  return (
    lackingLine(logged, statistics) ??
    disorder(statistics) ??
    wrongSum(statistics, tolerance) ??
    wrongCount(logged, statistics)
  );
}

/** Since 8.0 all lines of a summary are always printed. */
const COMPLETE_SINCE = 8;

function lackingLine({ draft, version }: LoggedNumbers, found: Statistics): string | null {
  if ((version?.major ?? 0) < COMPLETE_SINCE) return null;
  const lacking = TIMED_METRICS.find((metric) => (found[metric]?.mean ?? null) === null);
  if (lacking !== undefined) return `its summary has no complete line "${METRIC_NAMES[lacking]}"`;
  if (draft.gpuTotalS === undefined) return 'its summary has no "Total GPU Compute Time"';
  const [first, ...others] = TIMED_METRICS.map((metric) => Object.keys(found[metric]?.percentiles ?? {}).join(', '));
  const other = others.find((list) => list !== first);
  return other === undefined ? null : `its lines have different percentiles: ${first} and ${other}`;
}

/** From this percentile on, index n - 1 - trunc((1 - p) n) never gives a value below the median. */
const UPPER_PERCENT = 75;

function disorder(found: Statistics): string | null {
  for (const metric of TIMED_METRICS) {
    const one = found[metric];
    if (one === undefined) continue;
    const at = (name: 'max' | 'mean' | 'median' | 'min') => ({ name, value: one[name] ?? one.median });
    const percentiles = Object.entries(one.percentiles)
      .map(([percent, value]) => ({ percent: Number(percent), name: `percentile(${percent}%)`, value }))
      .toSorted((a, b) => a.percent - b.percent);
    const upper = percentiles.filter(({ percent }) => percent >= UPPER_PERCENT);
    const chains = [[at('min'), at('median'), ...upper, at('max')], percentiles, [at('min'), at('mean'), at('max')]];
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
    const [whole, part] = [latencyMs.mean, gpuComputeMs.mean];
    return whole === null || part === null || part <= whole * (1 + tolerance)
      ? null
      : `the mean GPU compute time of ${part} ms is more than the mean latency of ${whole} ms`;
  }
  const parts = [h2dMs, gpuComputeMs, d2hMs];
  for (const name of ['min', 'median', 'max'] as const) {
    const largest = Math.max(...parts.map((part) => part[name]));
    if (largest <= latencyMs[name] * (1 + PRINTED)) continue;
    return `the ${name} latency of ${latencyMs[name]} ms is less than a part of it (${largest} ms)`;
  }
  const isAlone = h2dMs.max === 0 && d2hMs.max === 0;
  for (const name of ['min', 'max', 'mean', 'median'] as const) {
    const whole = latencyMs[name];
    const sum = parts.reduce((total, part) => total + (part[name] ?? Number.NaN), 0);
    if (whole === null || Number.isNaN(sum)) continue;
    const isExact = name === 'mean' || isAlone;
    const tooHigh = (isExact || name === 'max') && whole > sum * (1 + tolerance);
    const tooLow = (isExact || name === 'min') && whole < sum * (1 - tolerance);
    if (tooHigh || tooLow) return `the ${name} latency of ${whole} ms is not the sum of its parts (${shown(sum)} ms)`;
  }
  return null;
}

function wrongCount({ draft, queries, traceWalltimeS }: LoggedNumbers, found: Statistics): string | null {
  const { throughputQps, hostWalltimeS, gpuTotalS } = draft;
  if (hostWalltimeS === undefined || throughputQps === undefined) return null;
  const apart = Math.abs((traceWalltimeS ?? hostWalltimeS) - hostWalltimeS);
  if (apart > PRINTED * Math.max(Math.abs(traceWalltimeS ?? 0), Math.abs(hostWalltimeS))) {
    return `the timing trace covers ${traceWalltimeS} s, the summary ${hostWalltimeS} s`;
  }
  const counted = queries ?? throughputQps * hostWalltimeS;
  // TensorRT 7 prints 0 for dynamic shapes.
  if (throughputQps === 0) return null;
  if (!isSameCount(throughputQps * hostWalltimeS, counted)) {
    return `${throughputQps} qps over ${hostWalltimeS} s are not the ${counted} queries of the timing trace`;
  }
  const mean = found.gpuComputeMs?.mean ?? null;
  if (gpuTotalS === undefined || mean === null || isSameCount((1000 * gpuTotalS) / mean, counted)) return null;
  return `${shown(counted)} queries of ${mean} ms are not a total GPU compute time of ${gpuTotalS} s`;
}
