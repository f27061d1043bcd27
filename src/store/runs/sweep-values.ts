import { isOwnMetric, type MetricId, type OwnMetricId } from '../../records/metric.ts';
import type { NightRun } from '../../judge/sweep-run.ts';
import { FLAG_EFFECTS, RUN_FLAGS } from '../../records/run-flag.ts';
import { isOneOf } from '../../text/unknown-values.ts';
import type { ValueKind } from '../../judge/value-kind.ts';
import type { StoreDatabase } from '../file/open.ts';

/** Where the printed value of a metric stands. */
const VALUE_SQL: Readonly<Record<OwnMetricId, string>> = {
  gpuComputeMs: "(select median_ms from time_statistics t where t.run_id = r.run_id and t.metric = 'gpuCompute')",
  latencyMs: "(select median_ms from time_statistics t where t.run_id = r.run_id and t.metric = 'latency')",
  throughputQps: 'm.throughput_qps',
  p99Ms: "(select p99_ms from time_statistics t where t.run_id = r.run_id and t.metric = 'latency')",
  enqueueMs: "(select median_ms from time_statistics t where t.run_id = r.run_id and t.metric = 'enqueue')",
  buildS: '(select build_s from builds b where b.build_id = r.build_id)',
  engineMib: '(select engine_mib from builds b where b.build_id = r.build_id)',
  contextMib: 'm.context_memory_mib',
  memoryMib: '(select memory_used_max_mib from run_telemetry t where t.run_id = r.run_id)',
  loadS: "(select value from run_hints h where h.run_id = r.run_id and h.hint = 'engine_loaded_s')",
  refitMs: `(select h.value from run_hints h join runs b on b.run_id = h.run_id
    where h.hint = 'engine_refitted_ms' and b.build_id = r.build_id limit 1)`,
  outputErrorPercent: `(select 100 * a.relative_error from builds b join accuracy a on a.variant_sha256 = b.model_sha256
    where b.build_id = r.build_id order by a.measured_at desc limit 1)`,
};

/** Where the centre of the samples stands. */
const CENTRE_SQL: Readonly<Partial<Record<MetricId, string>>> = {
  gpuComputeMs: 'm.gpu_compute_centre_ms',
  latencyMs: 'm.latency_centre_ms',
};

const CUSTOM_VALUE_SQL = '(select v.value from run_values v where v.run_id = r.run_id and v.metric = @metric)';

/**
 * The measured runs of some sweeps, cell by cell in the order of the sweeps. One statement for a whole window of
 * nights: the gate reads tens of thousands of rows.
 * @param kinds which of its numbers counts, by the key of the cell; runs without it are left out
 */
export function nightRuns(
  db: StoreDatabase,
  sweepIds: readonly string[],
  metric: MetricId,
  kinds: ReadonlyMap<string, ValueKind> = NO_KINDS,
): NightRuns {
  const statement = db.$client.prepare<{ sweepIds: string; metric: string }, NightRow>(`
    select r.run_id as runId, r.cell_key as cellKey, r.sweep_id as sweepId, r.build_id as buildId,
           r.environment_id as environmentId, ${isOwnMetric(metric) ? VALUE_SQL[metric] : CUSTOM_VALUE_SQL} as printed,
           ${CENTRE_SQL[metric] ?? 'null'} as centre
    from json_each(@sweepIds) as s
    join runs r on r.sweep_id = s.value
    left join measurements m on m.run_id = r.run_id
    where r.role = 'timed' and r.outcome = 'measured' and r.cell_key is not null`);
  const { rows, otherKind } = ofOneKind(statement.all({ sweepIds: JSON.stringify(sweepIds), metric }), kinds);
  const fitness = fitnessOf(
    db,
    rows.map(({ runId }) => runId),
  );
  const runs = rows.map(({ runId, cellKey, sweepId, buildId, environmentId, value }) => ({
    cellKey,
    sweepId,
    buildId,
    environmentId,
    value,
    smClockMhz: fitness.clocks.get(runId) ?? null,
    flags: fitness.flags.get(runId) ?? NO_FLAGS,
  }));
  return { runs, otherKind };
}

interface NightRuns {
  readonly runs: readonly NightRun[];
  /** Sweeps in which a cell has only numbers of the other kind, by its key. */
  readonly otherKind: ReadonlyMap<string, ReadonlySet<string>>;
}

interface NightRow extends Omit<NightRun, 'flags' | 'smClockMhz' | 'value'> {
  readonly runId: string;
  readonly printed: number | null;
  readonly centre: number | null;
}

/** Centres where every run of a cell has one, printed values where one lacks it: the two are never mixed in a cell. */
function ofOneKind(
  rows: readonly NightRow[],
  kinds: ReadonlyMap<string, ValueKind>,
): { readonly rows: readonly (NightRow & { readonly value: number })[]; readonly otherKind: NightRuns['otherKind'] } {
  const without = new Set(
    rows.filter(({ printed, centre }) => (centre ?? 0) <= 0 && printed !== null).map(({ cellKey }) => cellKey),
  );
  const otherKind = new Map<string, Set<string>>();
  const counted = rows.flatMap((row) => {
    const kind = kinds.get(row.cellKey) ?? (without.has(row.cellKey) ? 'printed' : 'centre');
    const value = row[kind];
    if (value !== null && value > 0) return [{ ...row, value }];
    const other = kind === 'centre' ? row.printed : row.centre;
    if (other !== null && other > 0) {
      const sweeps = otherKind.get(row.cellKey) ?? new Set();
      otherKind.set(row.cellKey, sweeps.add(row.sweepId));
    }
    return [];
  });
  for (const { cellKey, sweepId } of counted) otherKind.get(cellKey)?.delete(sweepId);
  return { rows: counted, otherKind };
}

const NO_KINDS: ReadonlyMap<string, ValueKind> = new Map();
const NO_FLAGS: NightRun['flags'] = [];

interface Fitness {
  readonly clocks: ReadonlyMap<string, number>;
  readonly flags: ReadonlyMap<string, NightRun['flags']>;
}

/** By the id of the run. Ids in order: three times as fast as joins, for random ids lie all over their tables. */
function fitnessOf({ $client }: StoreDatabase, runIds: readonly string[]): Fitness {
  const clocks = new Map<string, number>();
  const flags = new Map<string, NightRun['flags']>();
  const has = (table: string): boolean => $client.prepare(`select 1 from ${table} limit 1`).get() !== undefined;
  const [hasClocks, hasFlags] = [has('run_telemetry'), has('run_flags')];
  const ids = hasClocks || hasFlags ? JSON.stringify(runIds.toSorted()) : '';
  if (hasClocks) {
    const rows = $client
      .prepare<[string], [runId: string, smClockMhz: number]>(
        `select t.run_id, t.sm_clock_mhz
         from json_each(?) as i join run_telemetry t on t.run_id = i.value
         where t.sm_clock_mhz is not null`,
      )
      .raw()
      .all(ids);
    for (const [runId, smClockMhz] of rows) clocks.set(runId, smClockMhz);
  }
  if (hasFlags) {
    const rows = $client
      .prepare<[string], [runId: string, id: string, effect: string]>(
        `select f.run_id, f.flag, f.effect
         from json_each(?) as i join run_flags f on f.run_id = i.value
         where f.effect <> 'explained' or f.flag = 'powerLimited'`,
      )
      .raw()
      .all(ids);
    for (const [runId, id, effect] of rows) {
      if (!isOneOf(RUN_FLAGS, id) || !isOneOf(FLAG_EFFECTS, effect)) continue;
      const others = flags.get(runId);
      flags.set(runId, others === undefined ? [{ id, effect }] : [...others, { id, effect }]);
    }
  }
  return { clocks, flags };
}
