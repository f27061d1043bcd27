import { chooseUnit, type TrendUnit, trendSteps } from '../analyse/trend.ts';
import { UsageError } from '../domain/errors.ts';
import { EXIT_CODES, type ExitCode } from '../domain/exit-codes.ts';
import { gateMetric, type MetricId } from '../domain/metrics.ts';
import { jsonText } from '../domain/printable.ts';
import { type Provenance, PROVENANCES } from '../domain/provenance.ts';
import { trendJson, type TrendSeries, trendText } from '../report/trend-report.ts';
import { lastMeasuredRuns } from '../store/cell-runs.ts';
import { allCells } from '../store/cells.ts';
import { newestProvenance, plannedSweeps } from '../store/find-sweeps.ts';
import { openExistingStore, type StoreDatabase } from '../store/open.ts';
import { chooseCells, namedCells } from './choose-cells.ts';
import { type Io, printLines } from './io.ts';
import { migrationsFolder, storePath } from './store-location.ts';

export interface TrendOptions {
  readonly json?: boolean;
  readonly db?: string;
  readonly metric?: MetricId;
  readonly by?: TrendUnit;
  readonly last: number;
  readonly height: number;
  readonly filter?: string;
  readonly provenance?: Provenance;
  readonly together?: boolean;
}

/** A step may be a whole night of repeats. */
const RUNS_PER_STEP = 20;

/** `bench trend [CELL...]`: values over nights or commits. */
export function trend(names: readonly string[], options: TrendOptions, io: Io): Promise<ExitCode> {
  if (options.together === true && options.by === 'run') {
    throw new UsageError('--together needs steps that cells share: --by sweep, night or commit');
  }
  const store = openExistingStore(storePath(options.db, io), migrationsFolder());
  try {
    const newest = newestProvenance(store.db);
    if (newest === null) {
      throw new UsageError('the store is empty: `bench run` or `bench import` something first');
    }
    const cells = chooseCells(namedCells(allCells(store.db), names), options.filter);
    const report = {
      ...measuredSeries(store.db, cells, newest, options),
      together: options.together === true,
      height: options.height,
    };
    if (options.json === true) io.out(`${jsonText(trendJson(report))}\n`);
    else printLines(io, trendText(report, io.look));
    return Promise.resolve(EXIT_CODES.fine);
  } finally {
    store.close();
  }
}

/** The results asked for, else the newest kind of result in the store, else whatever these cells have. */
function measuredSeries(
  db: StoreDatabase,
  cells: readonly TrendSeries['cell'][],
  newest: Provenance,
  options: TrendOptions,
): { provenance: Provenance; series: TrendSeries[] } {
  const { provenance: asked } = options;
  const candidates = asked === undefined ? new Set([newest, ...PROVENANCES]) : [asked];
  for (const provenance of candidates) {
    const series = cells
      .map((cell) => seriesOf(db, cell, provenance, options))
      .filter(({ steps }) => steps.length > 0);
    if (series.length > 0) return { provenance, series };
  }
  throw new UsageError(`no ${asked === undefined ? '' : `${asked} `}run of these cells is stored`);
}

function seriesOf(
  db: StoreDatabase,
  cell: TrendSeries['cell'],
  provenance: Provenance,
  { metric: asked, by, last, together }: TrendOptions,
): TrendSeries {
  const metric = gateMetric(asked ?? null, cell.streams);
  const runs = lastMeasuredRuns(db, cell.key, provenance, last * RUNS_PER_STEP).flatMap((run) => {
    const value = run.values[metric];
    return value === null ? [] : [{ ...run, value }];
  });
  const unit = by ?? (together === true ? 'sweep' : chooseUnit(runs));
  const planned = plannedSweeps(db, cell.key, provenance, last);
  return { cell, metric, unit, steps: trendSteps(runs, planned, unit, last) };
}
