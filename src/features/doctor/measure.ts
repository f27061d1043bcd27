import { join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { packageFolder } from '../../files/folders.ts';
import { withStore } from '../../cli/with-store.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import { lockOf } from '../../machine/requests.ts';
import type { KeyedCell } from '../../records/cell.ts';
import { UNKNOWN_ENVIRONMENT } from '../../records/environment.ts';
import { gateMetric, type MetricId, metricOf } from '../../records/metric.ts';
import { isIneligible } from '../../records/run-flag.ts';
import { isMeasured } from '../../records/run.ts';
import type { CellKey, SweepId } from '../../records/scalars.ts';
import { DOCTOR_BRANCH, type Sweep } from '../../records/sweep.ts';
import { cellsOfSweeps } from '../../selection/by-name.ts';
import { median } from '../../statistics/order-statistics.ts';
import { percentOfLog, twoSidedP } from '../../statistics/special-functions.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { findBuilds, findEnvironments } from '../../store/sweeps/environments.ts';
import { newestOfBranch, sweepsOfMachines } from '../../store/sweeps/find-sweeps.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { cellLabel, inLabelOrder } from '../../records/cell-label.ts';
import { startSweep } from '../run/index.ts';
import { checksOf, type Judged } from './gpu-checks.ts';
import type { DoctorOptions } from './command.ts';
import type { DoctorOutput } from './output.ts';
import { defined } from '../../text/unknown-values.ts';

/** Older measurements say nothing about the present state. */
const DAYS = 365;
const MAX_REPEATS = 20;
/** With fewer earlier sweeps of this machine, there is no comparison. */
const LEAST = 3;
const LEAST_PERCENT = 1;
const ALPHA = 0.01;
/**
 * Prior for the differences between sweeps of a machine: standard deviation on the log scale, and its weight in degrees
 * of freedom.
 */
const PRIOR = { sigma: 0.005, degrees: 3 } as const;

/** Measures the reference and compares it with earlier sweeps of this machine. The sweep is part of no history. */
export async function measureReference(options: DoctorOptions, io: Io) {
  const { db, filter, matrix, trtexec } = options;
  const path = matrix ?? join(packageFolder(), 'matrices', 'reference.yaml');
  const asked = {
    branch: DOCTOR_BRANCH,
    maxRepeats: MAX_REPEATS,
    json: true as const,
    telemetry: true,
    failOn: ['failed'] as const,
    ...defined({ db, filter, trtexec }),
  };
  const ended = await startSweep(path, asked, { ...io, out: () => {} });
  return withStore(options, io, ({ db: store }) => {
    const measured = standingOf(store);
    const exitCode = measured?.standing === 'slower' ? EXIT_CODES.regression : ended;
    const rows = checksOf('reference', 'reference', [['speed', 'speed', judged(measured)]]);
    return { measured, checks: rows, exitCode };
  });
}

type Measured = NonNullable<DoctorOutput['measured']>;

/** The comparison for the newest sweep of the doctor; null if no run of it counts. */
function standingOf(db: StoreDatabase): Measured | null {
  const sweep = newestOfBranch(db, DOCTOR_BRANCH);
  if (sweep === null) return null;
  const { sweepId } = sweep;
  const values = valuesLike(db, sweep);
  const own = values.filter((value) => value.sweepId === sweepId);
  const [first] = own;
  if (first === undefined) return null;
  const places = new Set(own.map(({ place }) => place));
  const earlier = values.filter((value) => value.sweepId !== sweepId && places.has(value.place));
  const known = Map.groupBy(earlier, (value) => value.sweepId);
  const usual = (key: CellKey) =>
    median([...known.values()].flatMap((of) => of.find(({ cell }) => cell.key === key)?.value ?? []));
  const about = { sweepId, machine: first.name, gpuName: first.gpuName, known: known.size };
  const cells = inLabelOrder(own.map(({ cell }) => cell)).flatMap((cell) =>
    own
      .filter((one) => one.cell === cell)
      .map(({ metric, value }) => {
        const { key } = cell;
        return { key, label: cellLabel(cell), metric, unit: metricOf(metric).unit, value, usual: usual(key) };
      }),
  );
  const effectOf = (of: readonly Value[]) =>
    median(
      of.flatMap(({ cell, metric, value }) => {
        const level = usual(cell.key);
        if (level === null) return [];
        return metricOf(metric).betterIs === 'lower' ? Math.log(value / level) : Math.log(level / value);
      }),
    );
  const effect = known.size < LEAST ? null : effectOf(own);
  if (effect === null) return { ...about, against: null, changePercent: null, standing: null, cells };
  const p = differenceP(
    effect,
    [...known.values()].flatMap((of) => effectOf(of) ?? []),
  );
  const isOff = Math.abs(percentOfLog(effect)) >= LEAST_PERCENT && p < ALPHA / (known.size + 1);
  const standing = !isOff ? 'as before' : effect > 0 ? 'slower' : 'faster';
  return { ...about, against: 'itself', changePercent: percentOfLog(effect), standing, cells };
}

/** The median of a cell in a sweep on one GPU of one host. */
interface Value {
  /** The common name of the machine. */
  readonly name: string;
  readonly gpuName: string;
  readonly sweepId: SweepId;
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  readonly value: number;
  /** Conditions that must match: cell, machine, TensorRT, locked clocks, MIG, model file and build options. */
  readonly place: string;
}

/** Values of the cells of a sweep, newest sweep first. */
function valuesLike(db: StoreDatabase, sweep: Sweep): Value[] {
  const since = Date.parse(sweep.startedAt ?? '') - DAYS * 86_400_000;
  const sweeps = sweepsOfMachines(db).filter(
    ({ provenance, startedAt }) => provenance === sweep.provenance && !(Date.parse(startedAt ?? '') < since),
  );
  const cells = cellsOfSweeps(db, [sweep.sweepId], undefined);
  const ids = sweeps.map(({ sweepId }) => sweepId);
  const keys = cells.map(({ key }) => key);
  const runs = cellRunsOf(db, ids, keys).filter((run) => isMeasured(run) && !isIneligible(run.flags));
  const environments = findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]);
  const builds = findBuilds(db, [...new Set(runs.flatMap(({ buildId }) => buildId ?? []))]);
  const known = runs.flatMap(({ buildId, cellKey, environmentId, sweepId, values }) => {
    const cell = cells.find(({ key }) => key === cellKey);
    const { clockPolicy, gpuName, gpuUuid, host, mig, tensorrt } =
      environments.get(environmentId) ?? UNKNOWN_ENVIRONMENT;
    const metric = cell === undefined ? null : gateMetric(null, cell);
    const value = metric === null ? null : values[metric];
    const name = host ?? gpuUuid?.slice(0, 12);
    if (cell === undefined || metric === null || !value || gpuName === null || name === undefined) return [];
    const { modelSha256, flags } = builds.get(buildId ?? '') ?? { modelSha256: null, flags: null };
    const machine = [host, gpuUuid, gpuName, tensorrt, lockOf(clockPolicy), mig];
    const place = JSON.stringify([cellKey, ...machine, modelSha256, flags]);
    return [{ name, gpuName, sweepId, cell, metric, value, place }];
  });
  return [...Map.groupBy(known, ({ place, sweepId }) => `${sweepId} ${place}`).values()]
    .flatMap((own) => own.slice(0, 1).map((one) => ({ ...one, value: median(own.map(({ value }) => value)) ?? 0 })))
    .toSorted((a, b) => ids.indexOf(a.sweepId) - ids.indexOf(b.sweepId));
}

/** Two-sided p-value that a value comes from the same distribution as the others (log scale). */
function differenceP(value: number, others: readonly number[]): number {
  const mean = others.reduce((sum, one) => sum + one, 0) / others.length;
  const squares = others.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  const degrees = PRIOR.degrees + others.length - 1;
  const variance = (PRIOR.degrees * PRIOR.sigma ** 2 + squares) / degrees;
  return twoSidedP((value - mean) / Math.sqrt(variance * (1 + 1 / others.length)), degrees);
}

function judged(measured: Measured | null): Judged {
  if (measured === null) return ['warning', 'no run of the reference is valid', 'bench show latest'];
  const { against, cells, changePercent, known, standing } = measured;
  const [first] = cells;
  const value = first === undefined ? '' : `${formatNumber(first.value)} ${first.unit}`;
  const what = cells.length === 1 ? value : count(cells.length, 'cell');
  if (against === null || changePercent === null) {
    const evidence = `${what}; not compared: ${LEAST} earlier sweeps of this machine are needed`;
    return ['advice', evidence, '# repeat it; bench compare gpu=A gpu=B compares machines'];
  }
  const evidence = `${what}, ${formatPercent(changePercent)} against ${count(known, 'earlier sweep')} of this machine`;
  if (standing !== 'slower') return ['ok', evidence];
  const mend = 'bench ls machines   # compare its driver and TensorRT with before';
  return ['warning', `${evidence}: slower than those sweeps differ`, mend];
}
