import type { MetricId } from '../domain/metrics.ts';
import type { NightRun } from '../domain/night-run.ts';
import { FLAG_EFFECTS, RUN_FLAGS } from '../domain/run-flag.ts';
import { isOneOf } from '../domain/unknown-values.ts';
import type { StoreDatabase } from './open.ts';

/** Where the value of a metric stands; the centre of the samples is steadier than the printed median. */
const VALUE_SQL: Readonly<Record<MetricId, string>> = {
  gpuComputeMs:
    "coalesce(m.gpu_compute_centre_ms, (select median_ms from time_statistics t where t.run_id = r.run_id and t.metric = 'gpuCompute'))",
  latencyMs:
    "coalesce(m.latency_centre_ms, (select median_ms from time_statistics t where t.run_id = r.run_id and t.metric = 'latency'))",
  throughputQps: 'm.throughput_qps',
  p99Ms:
    "(select p99_ms from time_statistics t where t.run_id = r.run_id and t.metric = 'latency')",
  enqueueMs:
    "(select median_ms from time_statistics t where t.run_id = r.run_id and t.metric = 'enqueue')",
  buildS: '(select build_s from builds b where b.build_id = r.build_id)',
  engineMib: '(select engine_mib from builds b where b.build_id = r.build_id)',
  contextMib: 'm.context_memory_mib',
};

/**
 * The measured runs of some sweeps, cell by cell in the order of the sweeps. One statement for a whole window of
 * nights: the gate reads tens of thousands of rows.
 */
export function nightRuns(
  db: StoreDatabase,
  sweepIds: readonly string[],
  metric: MetricId,
): NightRun[] {
  const statement = db.$client.prepare<[string], NightRow>(`
    select r.cell_key as cellKey, r.sweep_id as sweepId, r.build_id as buildId,
           r.environment_id as environmentId, ${VALUE_SQL[metric]} as value,
           t.sm_clock_mhz as smClockMhz,
           (select group_concat(f.flag || ' ' || f.effect) from run_flags f
            where f.run_id = r.run_id) as flags
    from json_each(?) as s
    join runs r on r.sweep_id = s.value
    join measurements m on m.run_id = r.run_id
    left join run_telemetry t on t.run_id = r.run_id
    where r.role = 'timed' and r.outcome = 'measured' and r.cell_key is not null`);
  return statement
    .all(JSON.stringify(sweepIds))
    .filter(({ value }) => value > 0)
    .map((row) => ({ ...row, flags: row.flags === null ? NO_FLAGS : flagsIn(row.flags) }));
}

interface NightRow extends Omit<NightRun, 'flags'> {
  /** `coarseTimer widened,powerLimited explained`. */
  readonly flags: string | null;
}

const NO_FLAGS: NightRun['flags'] = [];

function flagsIn(text: string): NightRun['flags'] {
  return text.split(',').flatMap((flag) => {
    const [id, effect] = flag.split(' ');
    return isOneOf(RUN_FLAGS, id) && isOneOf(FLAG_EFFECTS, effect) ? [{ id, effect }] : [];
  });
}
