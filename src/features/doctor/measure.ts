import { join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { packageFolder } from '../../cli/store-location.ts';
import { withStore } from '../../cli/with-store.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import { judgeFleet, LEAST_TWINS } from '../../judge/fleet.ts';
import { metricOf } from '../../records/metric.ts';
import { DOCTOR_BRANCH } from '../../records/sweep.ts';
import { type MachineValue, readFleet } from '../../selection/fleet.ts';
import { median } from '../../statistics/median.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { newestOfBranch } from '../../store/sweeps/find-sweeps.ts';
import { count, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { cellLabel, inLabelOrder } from '../../text/cell-label.ts';
import { startSweep } from '../run/index.ts';
import { checksOf, type Judged } from './checks.ts';
import type { DoctorOptions } from './command.ts';
import type { DoctorOutput } from './output.ts';
import { defined } from '../../text/unknown-values.ts';

/** A year: a machine that was not measured since is no twin. */
const DAYS = 365;
const MAX_REPEATS = 20;

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
  const sweepId = newestOfBranch(db, DOCTOR_BRANCH)?.sweepId;
  for (const against of ['twins', 'itself'] as const) {
    const values = readFleet(db, undefined, null, DAYS, against === 'itself')?.values ?? [];
    const own = values.filter((value) => value.sweepId === sweepId);
    const [first] = own;
    if (sweepId === undefined || first === undefined) return null;
    const known = knownTo(own, values, against);
    const standing = judgeFleet([...own, ...known], true).find(({ machine }) => machine === first.machine);
    const hasEnough = (standing?.changePercent ?? null) !== null;
    if (!hasEnough && against === 'twins') continue;
    return {
      sweepId,
      machine: first.name,
      gpuName: first.gpuName,
      against: hasEnough ? against : null,
      known: standing?.twins ?? 0,
      changePercent: standing?.changePercent ?? null,
      standing: standing?.standing ?? null,
      cells: cellsOf(own, known),
    };
  }
  return null;
}

/** Values of the same cells under the same conditions: of other machines, or of this one before. */
function knownTo(
  own: readonly MachineValue[],
  values: readonly MachineValue[],
  against: 'twins' | 'itself',
): MachineValue[] {
  const [first] = own;
  const places = new Set(own.map(placeOf));
  return values.filter(
    (value) =>
      value.gpuName === first?.gpuName &&
      value.machine !== first.machine &&
      places.has(placeOf(value)) &&
      (against === 'twins' || value.name === first.name),
  );
}

function placeOf({ cellKey, condition }: MachineValue): string {
  return `${cellKey} ${condition}`;
}

function cellsOf(own: readonly MachineValue[], known: readonly MachineValue[]): Measured['cells'] {
  const byKey = new Map(own.map((value) => [value.cellKey, value]));
  return inLabelOrder(own.map(({ cell }) => cell)).flatMap((cell) => {
    const mine = byKey.get(cell.key);
    if (mine === undefined) return [];
    const { metric, value } = mine;
    const usual = median(known.filter(({ cellKey }) => cellKey === cell.key).map((other) => other.value));
    return [{ key: cell.key, label: cellLabel(cell), metric, unit: metricOf(metric).unit, value, usual }];
  });
}

function judged(measured: Measured | null): Judged {
  if (measured === null)
    return { state: 'warning', evidence: 'no run of the reference counts', mend: 'bench show latest' };
  const { against, cells, changePercent, known, standing } = measured;
  const [first] = cells;
  const value = first === undefined ? '' : `${formatNumber(first.value)} ${first.unit}`;
  const what = cells.length === 1 ? value : count(cells.length, 'cell');
  if (against === null || changePercent === null) {
    const evidence = `${what}; compared with nothing: ${LEAST_TWINS} machines with this GPU, or ${LEAST_TWINS} earlier sweeps of this one, are needed`;
    return {
      state: 'advice',
      evidence,
      mend: '# run it on the others as well, and merge their stores: bench db merge',
    };
  }
  const others = against === 'twins' ? count(known, 'twin') : `${count(known, 'earlier sweep')} of this machine`;
  const evidence = `${what}, ${formatPercent(changePercent)} against ${others}${standing === 'slower' ? ': slower than they differ by' : ''}`;
  return standing === 'slower'
    ? { state: 'warning', evidence, mend: 'bench ls machines   # and what it has otherwise than its twins' }
    : { state: 'ok', evidence };
}
