/** Columns of `--exportTimes`, under the names that trtexec uses from 8.0 on. All in milliseconds. */
export const QUERY_TIME_COLUMNS = [
  'startEnqMs',
  'endEnqMs',
  'startH2dMs',
  'endH2dMs',
  'startComputeMs',
  'endComputeMs',
  'startD2hMs',
  'endD2hMs',
  'h2dMs',
  'computeMs',
  'd2hMs',
  'latencyMs',
] as const;

export type QueryTimeColumn = (typeof QUERY_TIME_COLUMNS)[number];

/**
 * The times of each query of one run, in the order of the file. Each column has `count` entries; a column that the
 * file lacks is absent. Start and end stamps carry six significant digits only: take durations from `computeMs` and
 * `latencyMs`, never from differences of stamps.
 */
export interface QueryTimes {
  readonly count: number;
  readonly columns: Readonly<Partial<Record<QueryTimeColumn, Float64Array>>>;
}
