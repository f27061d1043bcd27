import type { BoundBy } from '../../records/bound.ts';
import type { BuildId, CellKey, RunId, SweepId } from '../../records/scalars.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import type { StoreDatabase } from '../file/open.ts';
import { RUN_COLUMNS, type SweepValues } from './sweep-values.ts';

type Flags = readonly Pick<RunFlag, 'id' | 'effect'>[];

/** A run with a cell, build, environment, SM clock and bottleneck. */
export type RunRow = [RunId, CellKey | null, BuildId | null, string, number | null, BoundBy | null];

/** The measured timed runs of a sweep, in the order in which they came. */
export function runRowsOf({ $client }: StoreDatabase): (sweepId: SweepId) => RunRow[] {
  const statement = $client
    .prepare<[string], RunRow>(
      `SELECT r.run_id, r.cell_key, r.build_id, r.environment_id, t.sm_clock_mhz, m.bound_by
       FROM runs r LEFT JOIN run_telemetry t ON t.run_id = r.run_id LEFT JOIN measurements m ON m.run_id = r.run_id
       WHERE r.sweep_id = ? AND r.role = 'timed' AND r.outcome = 'measured' AND r.cell_key IS NOT NULL`,
    )
    .raw();
  return (sweepId) => statement.all(sweepId);
}

interface Run {
  readonly runId: RunId;
  /** Of the sweep. */
  readonly numbers: Float64Array;
  readonly place: number;
}

/** Of all runs of some sweeps, from their own rows and in one pass: of half a million runs one statement a metric is too slow. */
export function readSweepValues(db: StoreDatabase, sweepIds: readonly SweepId[]): Map<SweepId, SweepValues> {
  const rowsOf = runRowsOf(db);
  const runs: Run[] = [];
  const values = new Map(
    sweepIds.map((sweepId) => {
      const rows = rowsOf(sweepId);
      const numbers = new Float64Array((1 + RUN_COLUMNS.length) * rows.length).fill(Number.NaN);
      rows.forEach(([runId, , , , clock], place) => {
        runs.push({ runId, numbers, place });
        numbers[place] = clock ?? Number.NaN;
      });
      return [sweepId, { ...factsOf(rows, readFlags(db, sweepId)), numbers }] as const;
    }),
  );
  readColumns(db, runs);
  return values;
}

function factsOf(rows: readonly RunRow[], flags: ReadonlyMap<RunId, Flags>) {
  const [cells, builds, environments] = [new Places<CellKey>(), new Places<BuildId | null>(), new Places<string>()];
  const [flagged, bounds] = [new Places<Flags>(), new Places<BoundBy | null>()];
  const places = Int32Array.from(
    rows.flatMap(([runId, cellKey, buildId, environmentId, , boundBy]) => {
      const own = flags.get(runId) ?? [];
      const ofRun = [cells.of(cellKey ?? ''), builds.of(buildId), environments.of(environmentId)];
      return [...ofRun, flagged.of(own, JSON.stringify(own)), bounds.of(boundBy)];
    }),
  );
  return {
    cells: cells.all,
    builds: builds.all,
    environments: environments.all,
    flags: flagged.all,
    bounds: bounds.all,
    places,
  };
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
         AND (f.effect <> 'explained' OR f.flag IN ('powerLimited', 'contended'))`,
    )
    .raw()
    .all(sweepId);
  const byRun = Map.groupBy(rows, ([runId]) => runId);
  return new Map([...byRun].map(([runId, own]) => [runId, own.map(([, id, effect]) => ({ id, effect }))]));
}

type ValueRow = [place: number, ...values: (number | null)[]];

/** By the keys of the runs, in order. */
function readColumns({ $client }: StoreDatabase, runs: readonly Run[]): void {
  const lines = [...new Set(RUN_COLUMNS.map(({ line }) => line))];
  const columns = RUN_COLUMNS.map(({ line, name }) => `v${lines.indexOf(line)}.${name}`);
  const joined = lines.map((line, index) => {
    const table = line === '' ? 'measurements' : 'time_statistics';
    const ofLine = line === '' ? '' : ` AND v${index}.metric = '${line}'`;
    return `LEFT JOIN ${table} v${index} ON v${index}.run_id = e.value${ofLine}`;
  });
  const byKey = $client
    .prepare<[string], ValueRow>(`SELECT e.key, ${columns.join(', ')} FROM json_each(?) e ${joined.join(' ')}`)
    .raw();
  const sorted = runs.toSorted((a, b) => (a.runId < b.runId ? -1 : 1));
  for (let from = 0; from < sorted.length; from += ROWS_AT_ONCE) {
    const some = sorted.slice(from, from + ROWS_AT_ONCE);
    for (const row of byKey.all(JSON.stringify(some.map(({ runId }) => runId)))) {
      const run = some[row[0]];
      if (run === undefined) continue;
      const { numbers, place } = run;
      const count = numbers.length / (1 + RUN_COLUMNS.length);
      for (let column = 1; column < row.length; column += 1) {
        numbers[column * count + place] = row[column] ?? Number.NaN;
      }
    }
  }
}

const ROWS_AT_ONCE = 20_000;
