import { type Measurement, TIMED_METRICS, type TimedMetric, type TimeStatistics } from '../../records/harness.ts';
import type { TensorrtVersion } from '../../text/version.ts';
import { METRIC_NAMES, type Summary } from './report.ts';

/** Queries as executions of the whole batch, with a list of the numbers that are computed rather than printed. */
export interface CountedQueries {
  readonly queries: number | null;
  readonly warmUpQueries: number | null;
  readonly measurement: Measurement | null;
  /** Formulas with their numbers, by the name of the computed value. */
  readonly derived: Readonly<Record<string, string>>;
  /** Images in a query; null if the shapes state it. */
  readonly imagesPerQuery: number | null;
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
 * @param batch from `--batch=N` and `Batch: N`; 0 for explicit batches of TensorRT 7, null if neither is printed
 */
export function countQueries(
  printed: Pick<CountedQueries, 'queries' | 'warmUpQueries' | 'measurement'>,
  batch: number | null,
): CountedQueries {
  const { measurement, queries, warmUpQueries } = printed;
  const asPrinted = { ...printed, derived: {}, imagesPerQuery: null };
  if (measurement === null) return asPrinted;
  const { gpuTotalS, hostWalltimeS, throughputQps } = measurement;
  const mean = measurement.gpuComputeMs.mean ?? 0;
  if (gpuTotalS === null || mean <= 0) {
    // Without total and mean, queries look like images, and counts that were multiplied by 0 are lost.
    return { ...asPrinted, measurement: null, ...(queries === 0 ? { queries: null, warmUpQueries: null } : {}) };
  }
  const [timed, formula] = [(1000 * gpuTotalS) / mean, `${gpuTotalS} s / ${mean} ms`];
  const counted = queries ?? throughputQps * hostWalltimeS;
  const isOff = batch !== null && batch > 1 && !isSameCount(counted, timed);
  const size = isOff && isSameCount(counted / batch, timed) ? batch : 1;
  const derived: Record<string, string> = {};
  const ofBatch = (name: string, images: number | null): number | null => {
    if (size > 1 && images !== null) derived[name] = `${images} images / batch ${size}`;
    return images === null ? null : images / size;
  };
  const isLost = counted === 0 && !isOff;
  const printedCount = ofBatch('queries', queries);
  // The number of warm-up queries was multiplied by 0, too, so it is unknown.
  const warmUps = isLost ? null : ofBatch('warmUpQueries', warmUpQueries);
  let qps = ofBatch('throughputQps', throughputQps) ?? 0;
  if (printedCount === null) {
    derived['queries'] = `${throughputQps} qps × ${hostWalltimeS} s${size === 1 ? '' : ` / batch ${size}`}`;
  }
  const count = isLost ? Math.round(timed) : printedCount;
  if (qps === 0 && count !== null && count > 0 && hostWalltimeS > 0) {
    derived['throughputQps'] = `${count} queries / ${hostWalltimeS} s`;
    qps = count / hostWalltimeS;
  }
  if (isLost) derived['queries'] = formula;
  return {
    measurement: { ...measurement, throughputQps: qps },
    queries: count,
    warmUpQueries: warmUps,
    derived,
    imagesPerQuery: size === 1 ? null : size,
  };
}

function shown(value: number, digits = 6): number {
  return Number(value.toPrecision(digits));
}

interface LoggedNumbers {
  /** Whole lines of the summary as they are printed. */
  readonly statistics: Statistics;
  readonly measurement: Measurement;
  /** From the timing trace; null if it was not printed. */
  readonly queries: number | null;
  readonly version: TensorrtVersion | null;
}

type Statistics = ReturnType<Summary['printed']>;

/** Relative tolerance per query: trtexec sums means in float32. In 376 recordings they differ by 0.002 % at most. */
const SUMMED = 3e-8;

/**
 * The first contradiction between the printed numbers; null if there is none. It reveals lost bytes and foreign text. A
 * missing number contradicts nothing, unless it is always printed.
 */
export function contradictionIn({ statistics, version, ...logged }: LoggedNumbers): string | null {
  const { throughputQps, hostWalltimeS } = logged.measurement;
  const counted = logged.queries ?? throughputQps * hostWalltimeS;
  return (
    lackingLine(version, statistics) ??
    disorder(statistics) ??
    wrongSum(statistics, PRINTED + SUMMED * counted) ??
    wrongCount(logged.measurement, counted)
  );
}

/** Since 8.0 all lines of a summary are always printed. */
const COMPLETE_SINCE = 8;

function lackingLine(version: TensorrtVersion | null, found: Statistics): string | null {
  if ((version?.major ?? 0) < COMPLETE_SINCE) return null;
  const lacking = TIMED_METRICS.find((metric) => (found[metric]?.mean ?? null) === null);
  if (lacking !== undefined) return `its summary has no complete line "${METRIC_NAMES[lacking]}"`;
  const [first, ...others] = TIMED_METRICS.map((metric) => Object.keys(found[metric]?.percentiles ?? {}).join(', '));
  const other = others.find((list) => list !== first);
  return other === undefined ? null : `its lines have different percentiles: ${first} and ${other}`;
}

/** From this percentile on, index n - 1 - trunc((1 - p) n) never gives a value below the median. */
const UPPER_PERCENT = 75;

/** The first two numbers of a metric in the wrong order; null if there are none. */
export function disorder(found: Readonly<Partial<Record<TimedMetric, TimeStatistics | null>>>): string | null {
  for (const metric of TIMED_METRICS) {
    const one = found[metric] ?? null;
    if (one === null) continue;
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

const FIELDS = ['min', 'median', 'max', 'mean'] as const;

/** The latency of a query is defined as the sum of its three parts; TensorRT 7 prints only one of them. */
function wrongSum({ latencyMs, h2dMs, gpuComputeMs, d2hMs }: Statistics, tolerance: number): string | null {
  if (latencyMs === undefined || gpuComputeMs === undefined) return null;
  const parts = [h2dMs, gpuComputeMs, d2hMs].filter((part) => part !== undefined);
  const isAlone = h2dMs?.max === 0 && d2hMs?.max === 0;
  const times = FIELDS.flatMap((name) => {
    const own = parts.flatMap((part) => part[name] ?? []);
    const whole = latencyMs[name];
    return whole === null || own.length < parts.length ? [] : [{ name, own, whole }];
  });
  for (const { name, own, whole } of times) {
    const largest = Math.max(...own);
    if (largest <= whole * (1 + (name === 'mean' ? tolerance : PRINTED))) continue;
    return `the ${name} latency of ${whole} ms is less than a part of it (${largest} ms)`;
  }
  if (parts.length < 3) return null;
  for (const { name, own, whole } of times) {
    const sum = own.reduce((total, part) => total + part, 0);
    const isExact = name === 'mean' || isAlone;
    const tooHigh = (isExact || name === 'max') && whole > sum * (1 + tolerance);
    const tooLow = (isExact || name === 'min') && whole < sum * (1 - tolerance);
    if (tooHigh || tooLow) return `the ${name} latency of ${whole} ms is not the sum of its parts (${shown(sum)} ms)`;
  }
  return null;
}

function wrongCount(measurement: Measurement, counted: number): string | null {
  const { throughputQps, hostWalltimeS, gpuTotalS, gpuComputeMs } = measurement;
  if (!isSameCount(throughputQps * hostWalltimeS, counted)) {
    return `${throughputQps} qps over ${hostWalltimeS} s are not the ${counted} queries of the timing trace`;
  }
  if (isSameCount((1000 * (gpuTotalS ?? 0)) / (gpuComputeMs.mean ?? 1), counted)) return null;
  return `${shown(counted)} queries of ${gpuComputeMs.mean} ms are not a total GPU compute time of ${gpuTotalS} s`;
}
