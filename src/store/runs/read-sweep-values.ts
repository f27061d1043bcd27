import type { BuildId, CellKey, RunId, SweepId } from '../../records/scalars.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import type { StoreDatabase } from '../file/open.ts';
import { RUN_COLUMNS, type SweepValues } from './sweep-values.ts';

type Flags = readonly Pick<RunFlag, 'id' | 'effect'>[];

/** A run with a cell, build, environment and SM clock. */
export type RunRow = [RunId, CellKey | null, BuildId | null, string, number | null];

/** The measured timed runs of a sweep, in the order in which they came. */
export function runRowsOf({ $client }: StoreDatabase): (sweepId: SweepId) => RunRow[] {
  const statement = $client
    .prepare<[string], RunRow>(
      `SELECT r.run_id, r.cell_key, r.build_id, r.environment_id, t.sm_clock_mhz
       FROM runs r LEFT JOIN run_telemetry t ON t.run_id = r.run_id
       WHERE r.sweep_id = ? AND r.role = 'timed' AND r.outcome = 'measured' AND r.cell_key IS NOT NULL`,
    )
    .raw();
  return (sweepId) => statement.all(sweepId);
}

/** Of all runs of some sweeps, from their own rows and in one pass: of half a million runs one statement a metric is too slow. */
export function readSweepValues(db: StoreDatabase, sweepIds: readonly SweepId[]): Map<SweepId, SweepValues> {
  const rowsOf = runRowsOf(db);
  const places = new Map<RunId, readonly [numbers: Float64Array, place: number]>();
  const values = new Map(
    sweepIds.map((sweepId) => {
      const rows = rowsOf(sweepId);
      const numbers = new Float64Array((1 + RUN_COLUMNS.length) * rows.length).fill(Number.NaN);
      rows.forEach(([runId, , , , clock], place) => {
        places.set(runId, [numbers, place]);
        numbers[place] = clock ?? Number.NaN;
      });
      return [sweepId, { ...factsOf(rows, readFlags(db, sweepId)), numbers }] as const;
    }),
  );
  for (const table of ['measurements', 'time_statistics'] as const) readColumns(db, table, places);
  return values;
}

function factsOf(rows: readonly RunRow[], flags: ReadonlyMap<RunId, Flags>) {
  const [cells, builds, environments] = [new Places<CellKey>(), new Places<BuildId | null>(), new Places<string>()];
  const flagged = new Places<Flags>();
  const places = Int32Array.from(
    rows.flatMap(([runId, cellKey, buildId, environmentId]) => {
      const own = flags.get(runId) ?? [];
      const ofRun = [cells.of(cellKey ?? ''), builds.of(buildId), environments.of(environmentId)];
      return [...ofRun, flagged.of(own, JSON.stringify(own))];
    }),
  );
  return { cells: cells.all, builds: builds.all, environments: environments.all, flags: flagged.all, places };
}

/** Each value once. */
class Places<Value> {
  readonly all: Value[] = [];
  private readonly known = new Map<unknown, number>();

  of(value: Value, key: unknown = value): number {
    const place = this.known.get(key) ?? this.all.length;
    if (place === this.all.length) this.all.push(value);
    this.known.set(key, place);
    return place;
  }
}

function readFlags({ $client }: StoreDatabase, sweepId: SweepId): Map<RunId, Flags> {
  const rows = $client
    .prepare<[string], [RunId, RunFlag['id'], RunFlag['effect']]>(
      `SELECT r.run_id, f.flag, f.effect FROM runs r CROSS JOIN run_flags f ON f.run_id = r.run_id
       WHERE r.sweep_id = ? AND r.role = 'timed'
         AND (f.effect <> 'explained' OR f.flag IN ('powerLimited', 'hostBound'))`,
    )
    .raw()
    .all(sweepId);
  const byRun = Map.groupBy(rows, ([runId]) => runId);
  return new Map([...byRun].map(([runId, own]) => [runId, own.map(([, id, effect]) => ({ id, effect }))]));
}

type ValueRow = [runId: RunId, line: string, ...values: (number | null)[]];

/** By the keys of the runs, in order. */
function readColumns(
  { $client }: StoreDatabase,
  table: 'measurements' | 'time_statistics',
  runs: ReadonlyMap<RunId, readonly [numbers: Float64Array, place: number]>,
): void {
  const ofTable = RUN_COLUMNS.map((column, index) => ({ ...column, index })).filter(
    ({ line }) => (line === '') === (table === 'measurements'),
  );
  const names = [...new Set(ofTable.map(({ name }) => name))];
  const lines = Map.groupBy(ofTable, ({ line }) => line);
  const [line, which] =
    table === 'measurements'
      ? ["''", '']
      : ['v.metric', `AND v.metric IN (${[...lines.keys()].map((name) => `'${name}'`).join(', ')})`];
  const select = `SELECT v.run_id, ${line}, ${names.map((name) => `v.${name}`).join(', ')} FROM`;
  const take = (rows: readonly ValueRow[]): void => {
    for (const [runId, ofLine, ...values] of rows) {
      const run = runs.get(runId);
      if (run === undefined) continue;
      const [numbers, place] = run;
      const count = numbers.length / (1 + RUN_COLUMNS.length);
      for (const { index, name } of lines.get(ofLine) ?? []) {
        numbers[(1 + index) * count + place] = values[names.indexOf(name)] ?? Number.NaN;
      }
    }
  };
  const byKey = $client
    .prepare<[string], ValueRow>(`${select} json_each(?) e CROSS JOIN ${table} v ON v.run_id = e.value ${which}`)
    .raw();
  const ids = [...runs.keys()].toSorted();
  for (let from = 0; from < ids.length; from += ROWS_AT_ONCE) {
    take(byKey.all(JSON.stringify(ids.slice(from, from + ROWS_AT_ONCE))));
  }
}

const ROWS_AT_ONCE = 20_000;
