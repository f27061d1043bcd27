import * as z from 'zod';

import { errorCode } from '../../errors.ts';
import { BOUNDS } from '../../records/bound.ts';
import { metricDefinition, type OwnMetricId } from '../../records/metric.ts';
import { FLAG_EFFECTS, RUN_FLAGS } from '../../records/run-flag.ts';
import type { Immutable, SweepId } from '../../records/scalars.ts';
import type { StoreDatabase } from '../file/open.ts';
import { measurements, timeStatistics } from '../schema.ts';

/** Those that many ask for; others are read for themselves. */
const KEPT: readonly OwnMetricId[] = ['gpuComputeMs', 'latencyMs', 'throughputQps', 'p99Ms', 'enqueueMs', 'contextMib'];

/** A value of a run in a row of its own. */
export interface RunColumn {
  readonly metric: OwnMetricId;
  readonly isCentre: boolean;
  /** Of the performance summary; empty for what is stated once, in `measurements`. */
  readonly line: string;
  readonly name: string;
}

export const RUN_COLUMNS: readonly RunColumn[] = KEPT.flatMap((metric): RunColumn[] => {
  const { centre, stored } = metricDefinition(metric);
  return [
    ...(stored.table === 'timeStatistics'
      ? [{ metric, isCentre: false, line: stored.of, name: timeStatistics[stored.column].name }]
      : []),
    ...(stored.table === 'measurements'
      ? [{ metric, isCentre: false, line: '', name: measurements[stored.column].name }]
      : []),
    ...(centre === undefined ? [] : [{ metric, isCentre: true, line: '', name: measurements[centre].name }]),
  ];
});

const factsSchema = z.object({
  cells: z.array(z.string()),
  builds: z.array(z.string().nullable()),
  environments: z.array(z.string()),
  bounds: z.array(z.enum(BOUNDS).nullable()),
  flags: z.array(z.array(z.object({ id: z.enum(RUN_FLAGS), effect: z.enum(FLAG_EFFECTS) }))),
});

/** What the measured timed runs of a sweep have; what many of them share is in lists, once. */
export interface SweepValues extends Immutable<z.infer<typeof factsSchema>> {
  /** Places of the cell, the build, the environment, the flags and the bottleneck of each run. */
  readonly places: Int32Array;
  /** Of all runs the SM clock in MHz, then each of `RUN_COLUMNS`; NaN where it is not known. */
  readonly numbers: Float64Array;
}

export const PLACES = 5;
const BYTES = 4 * PLACES + 8 * (1 + RUN_COLUMNS.length);

/** Of other columns than these, or of an older layout: read from the runs again. */
const FORMAT = ['3', ...RUN_COLUMNS.map(({ line, name }) => `${line}.${name}`)].join(' ');

/** Those that are kept; a damaged one is not. */
export function keptValues({ $client }: StoreDatabase, sweepIds: readonly SweepId[]): Map<SweepId, SweepValues> {
  const rows = $client
    .prepare<[string, string], { sweepId: SweepId; facts: string; data: Buffer }>(
      `SELECT v.sweep_id AS sweepId, v.facts, v.data FROM json_each(?) e CROSS JOIN sweep_values v ON v.sweep_id = e.value
       WHERE v.format = ?`,
    )
    .all(JSON.stringify(sweepIds), FORMAT);
  return new Map(
    rows.flatMap(({ data, facts, sweepId }): [SweepId, SweepValues][] => {
      const runs = data.length / BYTES;
      const parsed = factsSchema.safeParse(parsedJson(facts));
      if (!parsed.success || !Number.isInteger(runs)) return [];
      // A copy: doubles begin at multiples of eight bytes.
      const { buffer } = new Uint8Array(data);
      const numbers = new Float64Array(buffer, 0, (1 + RUN_COLUMNS.length) * runs);
      return [[sweepId, { ...parsed.data, numbers, places: new Int32Array(buffer, numbers.byteLength) }]];
    }),
  );
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * In the transaction in which they were read: where another process has written since, they are not kept. Triggers delete
 * them when a run of the sweep comes, changes or goes; what belongs to a run comes with it.
 */
export function keepValues({ $client }: StoreDatabase, values: ReadonlyMap<SweepId, SweepValues>): void {
  const keep = $client.prepare(
    'INSERT OR REPLACE INTO sweep_values (sweep_id, format, facts, data) VALUES (?, ?, ?, ?)',
  );
  try {
    for (const [sweepId, { numbers, places, ...facts }] of values) {
      const data = Buffer.concat([numbers, places].map(bytesOf));
      keep.run(sweepId, FORMAT, JSON.stringify(facts), data);
    }
  } catch (error) {
    if (!errorCode(error).startsWith('SQLITE_BUSY')) throw error;
  }
}

function bytesOf({ buffer, byteLength, byteOffset }: Int32Array | Float64Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
