import { UsageError } from '../errors.ts';
import { isOtherCard, machineKey } from '../judge/compare/differences.ts';
import { type CellSweeps, cellSweeps } from '../judge/gate/fit-runs.ts';
import { PAST_WINDOW_SWEEPS, pastValues } from '../judge/run-noise.ts';
import { type SweepRun, type ValueKind, valueKind } from '../judge/value-rule.ts';
import type { KeyedCell } from '../records/cell.ts';
import type { Environment } from '../records/environment.ts';
import { type MetricId, gateMetric } from '../records/metric.ts';
import { type CellRun, isMeasured } from '../records/run.ts';
import type { CellKey, SweepId } from '../records/scalars.ts';
import type { Sweep } from '../records/sweep.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { measuredRuns } from '../store/runs/run-values.ts';
import { findEnvironments } from '../store/sweeps/environments.ts';
import { countFinishedSweeps, seriesOf } from '../store/sweeps/find-sweeps.ts';
import { printable } from '../text/printable.ts';

/**
 * The histories of cells in some sweeps.
 * @param sweeps oldest first
 * @param machines `newest`: only sweeps on the machine of the newest one
 * @param kindOf kind of value; default: the kind that all sweeps of the cell have
 */
export function cellHistories(
  db: StoreDatabase,
  sweeps: readonly Sweep[],
  cells: readonly KeyedCell[],
  requested: MetricId | null,
  machines: 'newest' | 'all' = 'newest',
  kindOf?: (cell: KeyedCell) => ValueKind,
): CellSweeps[] {
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const keys = new Set(cells.map(({ key }) => key));
  const metrics = [...new Set(cells.map((cell) => gateMetric(requested, cell)))];
  const { byCell, environmentIds, valueRule } = measuredRuns(db, ids, keys, metrics);
  const sameMachine = machineFilter(findEnvironments(db, [...environmentIds]));
  return cells.map((cell) => {
    const metric = gateMetric(requested, cell);
    const runs = byCell.get(cell.key) ?? [];
    const valueOf = valueRule(runs, metric, kindOf?.(cell));
    const counted = runs.flatMap((run): SweepRun[] => {
      const value = valueOf(run);
      return value > 0 ? [{ ...run, value }] : [];
    });
    return cellSweeps(cell, metric, sweeps, machines === 'all' ? counted : sameMachine(counted, ids));
  });
}

/** Sweeps of a series without the counted ones, oldest first. */
export function earlierSweeps(db: StoreDatabase, sweep: Sweep, counted: readonly string[]): Sweep[] {
  return seriesOf(db, sweep, PAST_WINDOW_SWEEPS + counted.length)
    .filter(({ sweepId }) => !counted.includes(sweepId))
    .toReversed();
}

/**
 * Values of earlier sweeps at the same level as given values of a cell.
 * @param cells cells with the runs to compare with
 */
export function pastOf(
  db: StoreDatabase,
  sweeps: readonly Sweep[],
  cells: readonly { readonly cell: KeyedCell; readonly runs: readonly CellRun[] }[],
  requested: MetricId | null,
): (cellKey: CellKey, values: readonly number[]) => readonly number[] {
  const measured = new Map(cells.map(({ cell, runs }) => [cell, runs.filter(isMeasured)]));
  const kindOf = (cell: KeyedCell) => valueKind(measured.get(cell) ?? [], gateMetric(requested, cell));
  const histories = cellHistories(db, sweeps, [...measured.keys()], requested, 'newest', kindOf);
  const byKey = new Map(histories.map((found) => [found.cell.key, found]));
  return (cellKey, values) => {
    const found = byKey.get(cellKey);
    return found === undefined ? [] : pastValues(found, values);
  };
}

type Placed = Pick<SweepRun, 'environmentId' | 'sweepId'>;

/**
 * Keeps sweeps on the GPU model, TensorRT major version and locked clock of the newest one.
 * @param ofCard if true, only sweeps on the same GPU, too
 */
export function machineFilter(environments: ReadonlyMap<string, Environment>, ofCard = false) {
  const machines = new Map([...environments].map(([id, environment]) => [id, machineKey(environment)]));
  const machineOf = ({ environmentId }: Placed): string | undefined => machines.get(environmentId);
  const cardOf = ({ environmentId }: Placed) => (ofCard ? environments.get(environmentId)?.gpuUuid : null);
  const isOne = !ofCard && new Set(machines.values()).size <= 1;
  return <Run extends Placed>(ofCell: readonly Run[], sweepIds: readonly SweepId[]): readonly Run[] => {
    if (isOne) return ofCell;
    const places = new Map(sweepIds.map((id, place) => [id, place]));
    const placeOf = ({ sweepId }: Placed): number => places.get(sweepId) ?? -1;
    const [first, ...others] = ofCell;
    if (first === undefined) return ofCell;
    const newest = others.reduce((found, run) => (placeOf(run) > placeOf(found) ? run : found), first);
    const [machine, card] = [machineOf(newest), cardOf(newest)];
    return ofCell.filter((run) => machineOf(run) === machine && !isOtherCard(cardOf(run), card));
  };
}

/** The error for a store without results. @param branch null if none was requested */
export function nothingStored(db: StoreDatabase, branch: string | null = null): UsageError {
  if (countFinishedSweeps(db) === 0) {
    return new UsageError('no sweep has ended yet: `bench run` or `bench import` one; `bench run --resume` continues');
  }
  const which = branch === null ? 'a branch' : `branch ${printable(branch)}`;
  return new UsageError(`no sweep of ${which} is stored: name one of \`bench ls sweeps\`, or a branch with --branch`);
}
