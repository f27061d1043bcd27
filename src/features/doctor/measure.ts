import { join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { packageFolder } from '../../cli/store-location.ts';
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
import { percentOfLog } from '../../statistics/logarithms.ts';
import { median } from '../../statistics/median.ts';
import { twoSidedP } from '../../statistics/student-t.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { findBuilds, findEnvironments } from '../../store/sweeps/environments.ts';
import { newestOfBranch, sweepsOfMachines } from '../../store/sweeps/find-sweeps.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { cellLabel, inLabelOrder } from '../../text/cell-label.ts';
import { startSweep } from '../run/index.ts';
import { checksOf, type Judged } from './gpu-checks.ts';
import type { DoctorOptions } from './command.ts';
import type { DoctorOutput } from './output.ts';
import { defined } from '../../text/unknown-values.ts';

/** A year: a machine that was not measured since is no twin. */
const DAYS = 365;
const MAX_REPEATS = 20;
/** Machines, or earlier sweeps of this one, below which nothing is said. */
const LEAST = 3;
const LEAST_PERCENT = 1;
const ALPHA = 0.01;
/** What machines of one model differ by: standard deviation, log scale, and how many of them this weighs as much as. */
const PRIOR = { sigma: 0.005, degrees: 3 } as const;

/** Measures the reference, stores it in no history, and compares it with what the store knows of this GPU model. */
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

/** Of the sweep that was just measured; null where no run of it counts. */
function standingOf(db: StoreDatabase): Measured | null {
  const sweep = newestOfBranch(db, DOCTOR_BRANCH);
  if (sweep === null) return null;
  const { sweepId } = sweep;
  const values = valuesLike(db, sweep);
  const own = values.filter((value) => value.sweepId === sweepId);
  const [first] = own;
  if (first === undefined) return null;
  const places = new Set(own.map(placeOf));
  const others = values.filter((value) => value.sweepId !== sweepId && places.has(placeOf(value)));
  const [itself, twins] = [true, false].map((isSame) =>
    Map.groupBy(
      others.filter(({ machine }) => (machine === first.machine) === isSame),
      ({ machine, sweepId: id }) => (isSame ? id : machine),
    ),
  );
  const [against, known = new Map<string, Value[]>()] =
    (twins?.size ?? 0) >= LEAST ? (['twins', twins] as const) : (['itself', itself] as const);
  const usual = (key: CellKey) =>
    median([...known.values()].flatMap((of) => of.find(({ cell }) => cell.key === key)?.value ?? []));
  const about = { sweepId, machine: first.name, gpuName: first.gpuName, known: known.size };
  const cells = inLabelOrder(own.map(({ cell }) => cell)).flatMap((cell) => {
    const mine = own.find((value) => value.cell === cell);
    if (mine === undefined) return [];
    const { metric, value } = mine;
    return [
      { key: cell.key, label: cellLabel(cell), metric, unit: metricOf(metric).unit, value, usual: usual(cell.key) },
    ];
  });
  const effectOf = (of: readonly Value[]) =>
    median(
      [...Map.groupBy(of, ({ cell }) => cell.key)].flatMap(([key, [newest]]) => {
        const level = usual(key);
        if (level === null || newest === undefined) return [];
        const { metric, value } = newest;
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
  const standing = !isOff ? 'like its twins' : effect > 0 ? 'slower' : 'faster';
  return { ...about, against, changePercent: percentOfLog(effect), standing, cells };
}

/** The median of a cell in a sweep on one GPU of one host. */
interface Value {
  /** Whose, and what people call it. */
  readonly machine: string;
  readonly name: string;
  readonly gpuName: string;
  readonly sweepId: SweepId;
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  readonly value: number;
  /** What else must be the same: TensorRT, locked clocks, MIG, model file and build options. */
  readonly condition: string;
}

/** Of its cells on its GPU model, the newest sweep first. */
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
    const condition = JSON.stringify([gpuName, tensorrt, lockOf(clockPolicy), mig, modelSha256, flags]);
    return [{ machine: JSON.stringify([host, gpuUuid]), name, gpuName, sweepId, cell, metric, value, condition }];
  });
  const place = new Map(ids.map((id, index) => [id, index]));
  return [...Map.groupBy(known, (one) => JSON.stringify([one.sweepId, one.machine, placeOf(one)])).values()]
    .flatMap((own) => own.slice(0, 1).map((one) => ({ ...one, value: median(own.map(({ value }) => value)) ?? 0 })))
    .toSorted((a, b) => (place.get(a.sweepId) ?? 0) - (place.get(b.sweepId) ?? 0));
}

function placeOf({ cell, condition }: Pick<Value, 'cell' | 'condition'>): string {
  return `${cell.key} ${condition}`;
}

/** Two-sided, of one more value from where the others come from. */
function differenceP(value: number, others: readonly number[]): number {
  const mean = others.reduce((sum, one) => sum + one, 0) / others.length;
  const squares = others.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  const degrees = PRIOR.degrees + others.length - 1;
  const variance = (PRIOR.degrees * PRIOR.sigma ** 2 + squares) / degrees;
  return twoSidedP((value - mean) / Math.sqrt(variance * (1 + 1 / others.length)), degrees);
}

function judged(measured: Measured | null): Judged {
  if (measured === null) return ['warning', 'no run of the reference counts', 'bench show latest'];
  const { against, cells, changePercent, known, standing } = measured;
  const [first] = cells;
  const value = first === undefined ? '' : `${formatNumber(first.value)} ${first.unit}`;
  const what = cells.length === 1 ? value : count(cells.length, 'cell');
  if (against === null || changePercent === null) {
    const evidence = `${what}; compared with nothing: ${LEAST} machines with this GPU, or ${LEAST} earlier sweeps of this one, are needed`;
    return ['advice', evidence, '# run it on the others as well, and merge their stores: bench db merge'];
  }
  const others = against === 'twins' ? count(known, 'twin') : `${count(known, 'earlier sweep')} of this machine`;
  const evidence = `${what}, ${formatPercent(changePercent)} against ${others}`;
  if (standing !== 'slower') return ['ok', evidence];
  const mend = 'bench ls machines   # and what it has otherwise than they';
  return ['warning', `${evidence}: slower than they differ by`, mend];
}
