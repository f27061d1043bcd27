import type { Measurement } from '../../records/measurement.ts';

/** What a run prints of its queries. */
export interface PrintedCounts {
  /** Of `--batch=N` and `Batch: N`; 0 for explicit batches of TensorRT 7, null where neither is printed. */
  readonly batch: number | null;
  /** Of the timing trace. */
  readonly queries: number | null;
  readonly warmUpQueries: number | null;
  readonly measurement: Measurement | null;
}

/** Queries as executions of the whole batch, and which of these are no printed numbers. */
export interface CountedQueries extends Omit<PrintedCounts, 'batch'> {
  /** Formula with its numbers, by the name of the computed one. */
  readonly derived: Readonly<Record<string, string>>;
  /** Images in a query; null where shapes say it. */
  readonly imagesPerQuery: number | null;
  /** Both counts, where neither fits the times. */
  readonly contradiction: string | null;
}

/** Printed with six digits each: the total compute time, and the mean. */
const PRINTED = 1e-4;

/** True for counts that differ by less than one query, or by what the printed digits allow. */
export function isSameCount(a: number, b: number): boolean {
  return Math.abs(a - b) < Math.max(1, PRINTED * Math.max(a, b));
}

/**
 * With an implicit batch (TensorRT 7 to 8) trtexec counts images: divided by the batch where that fits the total compute
 * time over its mean. TensorRT 7 multiplies the counts of explicit batches by 0.
 */
export function countQueries(printed: PrintedCounts): CountedQueries {
  const { batch, measurement, queries } = printed;
  const timed = timedQueries(measurement);
  const counted = queries ?? (measurement === null ? null : measurement.throughputQps * measurement.hostWalltimeS);
  if (measurement !== null && timed === null) return untold(printed);
  if (batch !== null && batch > 1 && timed !== null && counted !== null && !isSameCount(counted, timed.queries)) {
    if (isSameCount(counted / batch, timed.queries)) return perBatch(printed, batch);
    const both = `${shown(counted)} queries, or ${shown(counted / batch)} of batch ${batch}`;
    return { ...asPrinted(printed), contradiction: `${both}, do not fit ${timed.formula} = ${shown(timed.queries)}` };
  }
  return timed !== null && counted === 0 ? withoutCounts(printed, timed) : asPrinted(printed);
}

function asPrinted({ measurement, queries, warmUpQueries }: PrintedCounts): CountedQueries {
  const none = measurement?.throughputQps === 0 && queries !== null && queries > 0 && measurement.hostWalltimeS > 0;
  if (!none) {
    const derived = ofRate(queries, measurement, '');
    return { measurement, queries, warmUpQueries, derived, imagesPerQuery: null, contradiction: null };
  }
  return {
    measurement: { ...measurement, throughputQps: queries / measurement.hostWalltimeS },
    queries,
    warmUpQueries,
    derived: { throughputQps: `${queries} queries / ${measurement.hostWalltimeS} s` },
    imagesPerQuery: null,
    contradiction: null,
  };
}

function perBatch({ measurement, queries, warmUpQueries }: PrintedCounts, batch: number): CountedQueries {
  const divided = (value: number | null): number | null => (value === null ? null : value / batch);
  const formula = (value: number | null): string => `${value} images / batch ${batch}`;
  const printed = { queries, warmUpQueries, throughputQps: measurement?.throughputQps ?? null };
  const known = Object.entries(printed).filter(([, value]) => value !== null);
  return {
    measurement: measurement === null ? null : { ...measurement, throughputQps: measurement.throughputQps / batch },
    queries: divided(queries),
    warmUpQueries: divided(warmUpQueries),
    derived: {
      ...Object.fromEntries(known.map(([name, value]) => [name, formula(value)])),
      ...ofRate(queries, measurement, ` / batch ${batch}`),
    },
    imagesPerQuery: batch,
    contradiction: null,
  };
}

/** Without the line of the timing trace the count is that of the rate. */
function ofRate(queries: number | null, measurement: Measurement | null, by: string): CountedQueries['derived'] {
  if (queries !== null || measurement === null) return {};
  return { queries: `${measurement.throughputQps} qps × ${measurement.hostWalltimeS} s${by}` };
}

/** Without total and mean nobody can tell queries from images, nor count those that were multiplied by 0. */
function untold({ queries, warmUpQueries }: PrintedCounts): CountedQueries {
  const isZero = queries === 0;
  return {
    measurement: null,
    queries: isZero ? null : queries,
    warmUpQueries: isZero ? null : warmUpQueries,
    derived: {},
    imagesPerQuery: null,
    contradiction: null,
  };
}

interface TimedQueries {
  readonly queries: number;
  readonly formula: string;
}

function timedQueries(measurement: Measurement | null): TimedQueries | null {
  const mean = measurement?.gpuComputeMs.mean ?? null;
  if (measurement === null || measurement.gpuTotalS === null || mean === null || mean <= 0) return null;
  const queries = (1000 * measurement.gpuTotalS) / mean;
  return { queries, formula: `${measurement.gpuTotalS} s / ${mean} ms` };
}

/** The number of warm-up queries is not known: it was multiplied by 0, too. */
function withoutCounts({ measurement }: PrintedCounts, timed: TimedQueries): CountedQueries {
  const queries = Math.round(timed.queries);
  const whole = asPrinted({ batch: null, measurement, queries, warmUpQueries: null });
  return { ...whole, derived: { ...whole.derived, queries: timed.formula } };
}

function shown(value: number): number {
  return Number(value.toPrecision(6));
}
