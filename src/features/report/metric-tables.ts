import { SPARK_SWEEPS } from './page/cell-rows.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { MetricId } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import type { Side } from '../../selection/sides.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { UsageError } from '../../errors.ts';
import { yieldToEventLoop, type Io } from '../../cli/io.ts';
import { compareReport, type Comparison, readSides } from '../compare/index.ts';
import { leftOutRuns, newestBound, sweepValues } from './cells.ts';
import type { ReportOptions } from './command.ts';
import type { Judgements } from './judgements.ts';
import type { MetricTable } from './page/report-data.ts';

/** What the table of cells can show in place of the cells' own metric. */
const METRICS: readonly MetricId[] = ['gpuComputeMs', 'latencyMs', 'p99Ms', 'throughputQps'];

interface Shown {
  readonly db: StoreDatabase;
  /** Oldest first. */
  readonly sweeps: readonly Sweep[];
  readonly judge: (metric: MetricId) => Promise<Judgements>;
  readonly io: Io;
}

/** The cells by their own metric, and by each other one that the store has of them. */
export async function metricTables(
  { db, io, judge, sweeps }: Shown,
  own: MetricTable['cells'],
): Promise<MetricTable[]> {
  const newest = sweeps.slice(-SPARK_SWEEPS);
  const cells = own.map(({ cell }) => cell);
  const tables: MetricTable[] = [{ cells: own }];
  for (const metric of METRICS.filter((one) => own.some((cell) => cell.metric !== one))) {
    await yieldToEventLoop(io);
    const rows = tableCells(db, newest, cells, metric);
    if (!rows.some(({ values }) => values.some((one) => one !== null))) continue;
    const judgements = await judge(metric);
    tables.push({
      cells: rows.map((row) => ({ ...row, judgement: judgements.get(row.cell.key) ?? { kind: 'values' } })),
    });
  }
  return tables;
}

function tableCells(db: StoreDatabase, sweeps: readonly Sweep[], cells: readonly KeyedCell[], metric: MetricId) {
  return cellHistories(db, sweeps, cells, metric, 'all').map((history) => ({
    cell: history.cell,
    metric,
    values: sweepValues(history, sweeps, []),
    marks: [],
    leftOut: leftOutRuns(history, sweeps),
    boundBy: newestBound(history),
  }));
}

type Chosen = Pick<ReportOptions, 'metric' | 'filter'> & { readonly acrossTensorrt?: true };

/** By the cells' own metric with the causes of its changes; null where no cell of either side passes the filter. */
export async function comparerOf(
  db: StoreDatabase,
  sides: { readonly base: Side; readonly head: Side },
  options: Chosen,
): Promise<(metric?: MetricId) => Promise<Comparison | null>> {
  const read = await nullIfRefused(async () => readSides(db, sides, options.filter));
  return (metric) =>
    nullIfRefused(async () => {
      const chosen = metric === undefined ? options : { ...options, metric };
      const { output } = await compareReport(db, sides, chosen, metric === undefined, read ?? undefined);
      return output;
    });
}

export async function nullIfRefused<Output>(make: () => Promise<Output>): Promise<Output | null> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof UsageError) return null;
    throw error;
  }
}
