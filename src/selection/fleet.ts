import type { FleetValue } from '../judge/fleet.ts';
import { lockOf } from '../machine/requests.ts';
import type { KeyedCell } from '../records/cell.ts';
import type { Environment } from '../records/environment.ts';
import { gateMetric, type MetricId, metricOf } from '../records/metric.ts';
import { isIneligible } from '../records/run-flag.ts';
import { type CellRun, isMeasured } from '../records/run.ts';
import type { CellKey, SweepId } from '../records/scalars.ts';
import type { Provenance, Sweep } from '../records/sweep.ts';
import { median } from '../statistics/median.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { cellRunsOf } from '../store/runs/cell-runs.ts';
import { findBuilds, findEnvironments, sweepEnvironments } from '../store/sweeps/environments.ts';
import { sweepsOfMachines } from '../store/sweeps/find-sweeps.ts';
import { cellsOfSweeps } from './by-name.ts';

/** One GPU of one host. */
export interface FleetMachine {
  /** `node17`, or `node17 GPU-1a2b3c4d` where that host has several GPUs of this model. */
  readonly name: string;
  readonly gpuName: string;
  /** Of its newest run. */
  readonly environment: Environment;
  readonly sweeps: number;
  readonly lastAt: string | null;
  readonly measured: number;
  /** Runs that failed, or are no measurements. */
  readonly others: number;
}

/** The newest value of a cell on a machine. */
export interface MachineValue extends FleetValue {
  /** Of the machine, also where each of its sweeps counts alone. */
  readonly name: string;
  readonly cell: KeyedCell;
  readonly metric: MetricId;
  readonly value: number;
  readonly tensorrt: string | null;
  readonly sweepId: SweepId;
}

export interface Fleet {
  readonly provenance: Provenance;
  readonly machines: readonly FleetMachine[];
  readonly values: readonly MachineValue[];
}

/** Of each machine and matrix at most this number of the newest sweeps count: one of Slurm has only a part of the cells on each node. */
export const SWEEPS_EACH = 3;

/** Where each sweep of a machine counts alone. */
const SWEEPS_APART = 12;

const DAY_MS = 86_400_000;

/**
 * What each machine measured last, of the provenance of the newest sweep.
 * @param days before the newest sweep; older ones are left out
 * @param apart each sweep of a machine as a machine of its own: how it compares with its own past
 * @returns null for a store without such a sweep
 */
export function readFleet(
  db: StoreDatabase,
  filter: string | undefined,
  requested: MetricId | null,
  days: number,
  apart = false,
): Fleet | null {
  const sweeps = sweepsOfMachines(db);
  const [newest] = sweeps;
  if (newest === undefined) return null;
  const { provenance } = newest;
  const since = Date.parse(newest.startedAt ?? '') - days * DAY_MS;
  const recent = sweeps.filter(
    (sweep) => sweep.provenance === provenance && !(Date.parse(sweep.startedAt ?? '') < since),
  );
  const chosen = newestOfEachMachine(recent, sweepEnvironments(db), apart ? SWEEPS_APART : SWEEPS_EACH);
  const ids = chosen.map(({ sweepId }) => sweepId);
  const cells = new Map(cellsOfSweeps(db, ids, filter).map((cell) => [cell.key, cell]));
  const runs = cellRunsOf(db, ids, [...cells.keys()]).filter(({ role }) => role === 'timed');
  const environments = findEnvironments(db, [...new Set(runs.map(({ environmentId }) => environmentId))]);
  const names = machineNames([...environments.values()]);
  const place = new Map(ids.map((id, index) => [id, index]));
  const byMachine = Map.groupBy(
    runs.flatMap((run) => {
      const environment = environments.get(run.environmentId);
      const gpuName = environment?.gpuName ?? null;
      return environment === undefined || gpuName === null ? [] : [{ run, environment, gpuName }];
    }),
    ({ environment, run }) => JSON.stringify([identityOf(environment), apart ? run.sweepId : null]),
  );
  const conditionOf = conditions(db, runs);
  const found = [...byMachine.values()].flatMap((own) => {
    const sorted = own.toSorted((a, b) => (place.get(a.run.sweepId) ?? 0) - (place.get(b.run.sweepId) ?? 0));
    const [last] = sorted;
    const short = last === undefined ? undefined : names.get(identityOf(last.environment));
    if (short === undefined || last === undefined) return [];
    const name = apart ? `${short} ${last.run.sweepId}` : short;
    const machine: FleetMachine = {
      name,
      gpuName: last.gpuName,
      environment: last.environment,
      sweeps: new Set(own.map(({ run }) => run.sweepId)).size,
      lastAt: own.map(({ run }) => run.startedAt ?? '').reduce((a, b) => (a > b ? a : b)) || null,
      measured: own.filter(({ run }) => isMeasured(run)).length,
      others: own.filter(({ run }) => !isMeasured(run)).length,
    };
    const values = [...Map.groupBy(sorted, ({ run }) => run.cellKey)].flatMap(([key, of]) => {
      const cell = cells.get(key);
      return cell === undefined ? [] : newestValue({ machine: name, name: short }, cell, requested, of, conditionOf);
    });
    return [{ machine, values }];
  });
  return { provenance, machines: found.map(({ machine }) => machine), values: found.flatMap(({ values }) => values) };
}

/** Newest first. */
function newestOfEachMachine(
  sweeps: readonly Sweep[],
  environmentsOf: (id: SweepId) => Environment[],
  each: number,
): Sweep[] {
  const counts = new Map<string, number>();
  return sweeps.filter((sweep) => {
    const machines = new Set(environmentsOf(sweep.sweepId).map(identityOf));
    const places = [...machines].map((machine) => JSON.stringify([sweep.matrix, machine]));
    const isWanted = places.some((place) => (counts.get(place) ?? 0) < each);
    if (isWanted) for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1);
    return isWanted;
  });
}

function identityOf({ gpuName, gpuUuid, host }: Environment): string {
  return JSON.stringify([host, gpuName, gpuUuid]);
}

const SHORT_UUID = 12;

/** By `identityOf`: as short as no other is named; without those that nothing names. */
function machineNames(environments: readonly Environment[]): ReadonlyMap<string, string> {
  const machines = new Map(environments.map((environment) => [identityOf(environment), namesOf(environment)]));
  const times = Map.groupBy([...machines.values()].flat(), (name) => name);
  return new Map(
    [...machines].flatMap(([identity, names]): [string, string][] => {
      const name = names.find((one) => times.get(one)?.length === 1);
      return name === undefined ? [] : [[identity, name]];
    }),
  );
}

/** The shorter first. */
function namesOf({ gpuName, gpuUuid, host }: Environment): string[] {
  const uuid = gpuUuid?.slice(0, SHORT_UUID) ?? null;
  const known = [host, uuid].filter((part) => part !== null).join(' ');
  return known === '' ? [] : [...new Set([host ?? known, known, `${known} (${gpuName})`])];
}

function conditions(db: StoreDatabase, runs: readonly CellRun[]): (run: CellRun, environment: Environment) => string {
  const builds = findBuilds(db, [...new Set(runs.flatMap(({ buildId }) => buildId ?? []))]);
  return ({ buildId }, { clockPolicy, mig, tensorrt }) => {
    const build = buildId === null ? undefined : builds.get(buildId);
    return JSON.stringify([tensorrt, lockOf(clockPolicy), mig, build?.modelSha256 ?? null, build?.flags ?? null]);
  };
}

interface Made {
  readonly run: CellRun;
  readonly environment: Environment;
  readonly gpuName: string;
}

/** @param runs of one cell and machine, the newest sweep first */
function newestValue(
  names: Pick<MachineValue, 'machine' | 'name'>,
  cell: KeyedCell,
  requested: MetricId | null,
  runs: readonly Made[],
  conditionOf: (run: CellRun, environment: Environment) => string,
): MachineValue[] {
  const metric = gateMetric(requested, cell);
  const valued = runs.filter(({ run }) => isMeasured(run) && !isIneligible(run.flags) && (run.values[metric] ?? 0) > 0);
  const [newest] = valued;
  if (newest === undefined) return [];
  const condition = conditionOf(newest.run, newest.environment);
  const own = valued.filter(
    ({ environment, run }) => run.sweepId === newest.run.sweepId && conditionOf(run, environment) === condition,
  );
  const value = median(own.flatMap(({ run }) => run.values[metric] ?? []));
  if (value === null) return [];
  const cost = metricOf(metric).betterIs === 'lower' ? value : 1 / value;
  const cellKey: CellKey = cell.key;
  const { tensorrt } = newest.environment;
  const { gpuName, run } = newest;
  return [{ ...names, gpuName, cellKey, condition, cost, cell, metric, value, tensorrt, sweepId: run.sweepId }];
}
