import { SPARK_SWEEPS } from '../../html/sparkline.ts';
import type { KeyedCell } from '../../records/cell.ts';
import type { MetricId } from '../../records/metric.ts';
import type { Sweep } from '../../records/sweep.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import type { Side } from '../../selection/sides.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { UsageError } from '../../errors.ts';
import { yieldToEventLoop, type Io } from '../../cli/io.ts';
import type { CheckedFinding } from '../check/index.ts';
import { compareReport, readSides, type SidesRead } from '../compare/index.ts';
import { leftOutRuns, newestBound, sweepValues } from './cells.ts';
import type { ReportOptions } from './command.ts';
import type { MetricTable, ReportData } from './page/report-data.ts';

/** What the table of cells can show in place of the cells' own metric. */
const METRICS: readonly MetricId[] = ['gpuComputeMs', 'latencyMs', 'p99Ms', 'throughputQps'];

type Chosen = Pick<ReportOptions, 'metric' | 'filter'> & { readonly acrossTensorrt?: true };

interface Shown {
  readonly db: StoreDatabase;
  /** Oldest first. */
  readonly sweeps: readonly Sweep[];
  readonly sides: Sides | null;
  readonly findings: readonly CheckedFinding[];
  readonly options: Chosen;
  readonly io: Io;
  /** Sides that were read for another metric, by their sweeps. */
  readonly read: Map<string, SidesRead>;
}

interface Sides {
  readonly base: Side;
  readonly head: Side;
}

/** The cells by their own metric, and by each other one that the store has of them. */
export async function metricTables(given: Omit<Shown, 'read'>, own: MetricTable['cells']): Promise<MetricTable[]> {
  const shown = { ...given, read: new Map<string, SidesRead>() };
  const { db, io, sweeps } = shown;
  const newest = sweeps.slice(-SPARK_SWEEPS);
  const cells = own.map(({ cell }) => cell);
  const others = METRICS.filter((metric) => own.some((cell) => cell.metric !== metric));
  const tables = [await metricTable(shown, own, true)];
  for (const metric of others) {
    await yieldToEventLoop(io);
    const rows = tableCells(db, newest, cells, metric);
    const hasValue = rows.some(({ values }) => values.some((one) => one !== null));
    if (hasValue) tables.push(await metricTable({ ...shown, options: { ...shown.options, metric } }, rows, false));
  }
  return tables;
}

function tableCells(
  db: StoreDatabase,
  sweeps: readonly Sweep[],
  cells: readonly KeyedCell[],
  metric: MetricId,
): MetricTable['cells'] {
  return cellHistories(db, sweeps, cells, metric, 'all').map((history) => ({
    cell: history.cell,
    metric,
    values: sweepValues(history, sweeps, []),
    marks: [],
    leftOut: leftOutRuns(history, sweeps),
    boundBy: newestBound(history),
  }));
}

/** @param isOwn with the causes of its changes */
async function metricTable(shown: Shown, cells: MetricTable['cells'], isOwn: boolean): Promise<MetricTable> {
  const compare = await comparedSides(shown, shown.sides, isOwn);
  return { cells, compare, sinceGood: await comparedToGood(shown) };
}

async function comparedToGood(shown: Shown): Promise<MetricTable['sinceGood']> {
  const { findings, sweeps } = shown;
  const lasting = findings.filter(({ kind, state }) => kind !== 'limit' && (state === 'confirmed' || state === 'open'));
  const found = [...Map.groupBy(lasting, ({ lastGood }) => lastGood?.sweepId)].map(async ([good, own]) => {
    const ends = sweeps.filter(({ sweepId }, place) => sweepId === good || place === sweeps.length - 1);
    const compare = await comparedSides(shown, sidesOf(ends), false);
    return (compare?.cells ?? []).flatMap(({ key, verdict, changePercent, ciPercent }) =>
      own
        .filter(({ cells }) => cells.includes(key))
        .map(({ id }) => ({ findingId: id, key, verdict, changePercent, ciPercent })),
    );
  });
  return (await Promise.all(found)).flat();
}

/** The last two. */
export function sidesOf(sweeps: readonly Sweep[]): Sides | null {
  const [base, head] = sweeps
    .slice(-2)
    .map((sweep): Side => ({ ref: sweep.sweepId.slice(0, 8), sweeps: [sweep], note: null }));
  return base === undefined || head === undefined ? null : { base, head };
}

/** Null where there is nothing to compare, or no cell of either side passes the filter. */
async function comparedSides(
  { db, options, read }: Shown,
  sides: Sides | null,
  isExplained: boolean,
): Promise<ReportData['compare']> {
  if (sides === null) return null;
  const key = JSON.stringify([sides.base, sides.head].map(({ sweeps }) => sweeps.map(({ sweepId }) => sweepId)));
  return nullIfRefused(async () => {
    const found = read.get(key) ?? readSides(db, sides, options.filter);
    read.set(key, found);
    return (await compareReport(db, sides, options, isExplained, found)).output;
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
