import { join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { packageFolder } from '../../files/folders.ts';
import { withStore } from '../../cli/with-store.ts';
import { EXIT_CODES } from '../../errors.ts';
import { UNKNOWN_ENVIRONMENT } from '../../records/environment.ts';
import { metricOf } from '../../records/metric.ts';
import type { SweepId } from '../../records/scalars.ts';
import { DOCTOR_BRANCH } from '../../records/sweep.ts';
import { cellsOfSweeps } from '../../selection/by-name.ts';
import { cellHistories } from '../../selection/cell-histories.ts';
import { median } from '../../statistics/order-statistics.ts';
import { percentOfLog, twoSidedP } from '../../statistics/special-functions.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { sweepEnvironments } from '../../store/sweeps/environments.ts';
import { newestOfBranch, seriesUntil } from '../../store/sweeps/find-sweeps.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { cellLabel, inLabelOrder } from '../../records/cell.ts';
import { startSweep } from '../run/index.ts';
import { checksOf, type Judged } from './gpu-checks.ts';
import type { DoctorOptions } from './command.ts';
import type { DoctorOutput } from './output.ts';
import { defined } from '../../text/unknown-values.ts';

/** Earlier measurements that count. */
const MOST_SWEEPS = 100;
const MAX_REPEATS = 20;
/** With fewer earlier measurements of this machine, there is no comparison. */
const LEAST = 3;
const LEAST_PERCENT = 1;
const ALPHA = 0.01;
/**
 * Prior for the differences between sweeps of a machine: standard deviation on the log scale, and its weight in degrees
 * of freedom.
 */
const PRIOR = { sigma: 0.005, degrees: 3 } as const;

/** Measures the reference and compares it with earlier measurements. The sweep is part of no history. */
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

/** Compares the newest measurement with earlier ones of the same GPU and host; null if no run of it counts. */
function standingOf(db: StoreDatabase): Measured | null {
  const sweep = newestOfBranch(db, DOCTOR_BRANCH);
  if (sweep === null) return null;
  const { sweepId } = sweep;
  const machineOf = (id: SweepId) => sweepEnvironments(db, id)[0] ?? UNKNOWN_ENVIRONMENT;
  const { gpuName, gpuUuid, host } = machineOf(sweepId);
  const sweeps = seriesUntil(db, sweep, MOST_SWEEPS).filter(({ sweepId: id }) => {
    const machine = machineOf(id);
    return machine.host === host && machine.gpuUuid === gpuUuid;
  });
  const all = inLabelOrder(cellsOfSweeps(db, [sweepId], undefined));
  const printed = new Map(all.map(({ key }) => [key, 'printed' as const]));
  const newest = sweeps.length - 1;
  const measured = cellHistories(db, sweeps.toReversed(), all, null, 'newest', printed).flatMap(
    ({ cell, history, metric }) => {
      const values = new Map(history.places.map((place, nth) => [place, history.values[nth] ?? 0]));
      const usual = median([...values].flatMap(([place, value]) => (place === newest ? [] : value)));
      const value = values.get(newest);
      return value === undefined ? [] : [{ cell, metric, value, values, usual }];
    },
  );
  if (measured.length === 0) return null;
  /** Median slowdown of the cells of a sweep against their usual values, on the log scale; null without any. */
  const effectAt = (place: number): number | null =>
    median(
      measured.flatMap(({ metric, usual, values }) => {
        const value = values.get(place);
        if (value === undefined || usual === null) return [];
        return Math.log(value / usual) * (metricOf(metric).betterIs === 'lower' ? 1 : -1);
      }),
    );
  const effects = sweeps.flatMap((_, place) => (place === newest ? [] : (effectAt(place) ?? [])));
  const effect = effects.length < LEAST ? null : effectAt(newest);
  const isOff =
    effect !== null &&
    Math.abs(percentOfLog(effect)) >= LEAST_PERCENT &&
    differenceP(effect, effects) < ALPHA / (effects.length + 1);
  const direction = effect !== null && effect > 0 ? 'slower' : 'faster';
  return {
    sweepId,
    machine: host ?? gpuUuid?.slice(0, 12) ?? '',
    gpuName: gpuName ?? '',
    known: effects.length,
    against: effect === null ? null : 'itself',
    changePercent: effect === null ? null : percentOfLog(effect),
    standing: effect === null ? null : isOff ? direction : 'as before',
    cells: measured.map(({ cell, metric, usual, value }) => {
      return { key: cell.key, label: cellLabel(cell), metric, unit: metricOf(metric).unit, value, usual };
    }),
  };
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
  const { cells, changePercent, known, standing } = measured;
  const [first] = cells;
  const value = first === undefined ? '' : `${formatNumber(first.value)} ${first.unit}`;
  const what = cells.length === 1 ? value : count(cells.length, 'cell');
  if (changePercent === null) {
    const evidence = `${what}; not compared: ${LEAST} earlier sweeps of this machine are needed`;
    return ['advice', evidence, '# repeat it; bench compare gpu=A gpu=B compares machines'];
  }
  const evidence = `${what}, ${formatPercent(changePercent)} against ${count(known, 'earlier sweep')} of this machine`;
  if (standing !== 'slower') return ['ok', evidence];
  const mend = 'bench ls machines   # compare its driver and TensorRT with before';
  return ['warning', `${evidence}: slower, beyond the variation of those sweeps`, mend];
}
