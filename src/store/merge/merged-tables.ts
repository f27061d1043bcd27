import type { StoreDatabase } from '../file/open.ts';

/**
 * How the rows of each table come from another store. A test holds this list and the schema together.
 * - `shared`: rows that many runs use, under a hash of their content
 * - `sweep`: rows of a sweep
 * - `run`: rows of a run, the one that the others refer to first
 * - `told`: what people and the nightly gate said, on top of results
 */
export const MERGED_TABLES = {
  shared: ['environments', 'cells', 'invocations', 'builds'],
  sweep: ['sweeps', 'sweep_imports', 'sweep_cells', 'attempts'],
  run: [
    'runs',
    'measurements',
    'time_statistics',
    'run_methods',
    'run_values',
    'samples',
    'layer_profiles',
    'run_telemetry',
    'run_flags',
    'run_hints',
    'run_evidence',
    'artefacts',
    'pruned_runs',
  ],
  told: ['accuracy', 'attachments', 'baselines', 'findings', 'acknowledgements'],
} as const;

interface TableShape {
  readonly keys: readonly string[];
  readonly values: readonly string[];
}

/** The columns of a table of this store: names from the schema, quoted. */
export function shapeOf({ $client }: StoreDatabase, table: string): TableShape {
  const rows = $client
    .prepare<[string], { name: string; pk: number }>('SELECT name, pk FROM pragma_table_info(?)')
    .all(table)
    .map(({ name, pk }) => ({ name: `"${name}"`, pk }));
  return {
    keys: rows.filter(({ pk }) => pk > 0).map(({ name }) => name),
    values: rows.filter(({ pk }) => pk === 0).map(({ name }) => name),
  };
}
