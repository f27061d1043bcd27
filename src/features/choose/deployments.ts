import { realPrecisions, tunedBatches } from '../../selection/engines-of-cells.ts';
import { cellsOfSweeps } from '../../selection/by-name.ts';
import { isColdStart } from '../../records/harness.ts';
import { count, formatDecibels } from '../../terminal/numbers.ts';
import { dotted } from '../../terminal/look.ts';
import { provenanceText } from '../../terminal/words.ts';
import { printable } from '../../text/printable.ts';
import { type Deployment, deploymentsOf } from '../../judge/deployment.ts';
import { cellLabel, inLabelOrder } from '../../records/cell.ts';
import type { Environment } from '../../records/environment.ts';
import { ensure } from '../../errors.ts';
import type { CellRun } from '../../records/run.ts';
import type { Sweep } from '../../records/sweep.ts';
import { allCells } from '../../store/cells.ts';
import { accuracyOfCells } from '../../store/runs/model-accuracies.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { matrixCellsOf } from '../../store/sweeps/swept-cells.ts';
import { newestFitSweeps } from '../../store/sweeps/newest-fit.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { ChooseOptions } from './command.ts';
import type { DeploymentOutput } from './output.ts';
import type { Io } from '../../cli/io.ts';
import { cellEfficiencies } from '../../selection/engine-efficiency.ts';
import { resolveSide } from '../../selection/sides.ts';

export type DeploymentOptions = Partial<Pick<ChooseOptions, 'at' | 'filter' | 'branch'>>;
export type ChosenDeployments = Awaited<ReturnType<typeof chosenDeployments>>;

/**
 * The cells of all `--at` sweeps together, as deployments; by default those of the newest sweep and its matrix, each in
 * the newest sweep with a fit run of it.
 */
export async function chosenDeployments(db: StoreDatabase, { at, branch, filter }: DeploymentOptions, io: Io) {
  const sides = [];
  for (const ref of at ?? ['latest']) sides.push(await resolveSide(db, ref, io, { branch }));
  const named = sides.flatMap((side) => side.sweeps);
  const newest = new Map(at === undefined ? named.flatMap((sweep) => [...newestFitSweeps(db, sweep)]) : []);
  const byId = new Map([...named, ...newest.values()].map((sweep) => [sweep.sweepId, sweep]));
  const sweeps = [...byId.values()];
  const provenances = [...new Set(sweeps.map(({ provenance }) => provenance))];
  ensure(provenances.length < 2, `these sweeps are ${provenances.join(' and ')}: one table cannot mix them`);
  const sweepIds = [...byId.keys()];
  const own = new Set(named.flatMap(({ sweepId }) => [...matrixCellsOf(db, sweepId).planned, ...newest.keys()]));
  const all = cellsOfSweeps(db, sweepIds, filter);
  const cells = inLabelOrder(all.filter((cell) => own.has(cell.key) && !isColdStart(cell)));
  ensure(cells.length > 0, 'no cell of these sweeps matches the filter; see `bench ls cells`');
  const keys = cells.map(({ key }) => key);
  const found = cellRunsOf(db, sweepIds, keys).filter(
    ({ cellKey, sweepId }) => at !== undefined || (newest.get(cellKey) ?? named[0])?.sweepId === sweepId,
  );
  const machines = findEnvironments(db, [...new Set(found.map((run) => run.environmentId))]);
  // By default, one table is of one GPU model: that of the newest sweep.
  const gpuOf = (run: CellRun | undefined) => machines.get(run?.environmentId ?? '')?.gpuName;
  const gpuName = at === undefined ? gpuOf(found.find(({ sweepId }) => sweepId === named[0]?.sweepId)) : undefined;
  const isOther = (run: CellRun): boolean => gpuName !== undefined && gpuOf(run) !== gpuName;
  const runs = found.filter((run) => !isOther(run));
  const environments = [...machines.values()].filter((one) => gpuName === undefined || one.gpuName === gpuName);
  const outside = at === undefined ? allCells(db).filter(({ key }) => !own.has(key)).length : 0;
  const others = new Set(found.filter(isOther).map(({ cellKey }) => cellKey)).size;
  // Shares of the time if there is a profile, else shares of the layers.
  const shares = [...realPrecisions(db, cells, runs, sweepIds)].map(
    ([key, { timeShares, layerShares }]) =>
      [key, Object.keys(timeShares).length > 0 ? timeShares : layerShares] as const,
  );
  const deployments = deploymentsOf(cells, runs, {
    accuracy: accuracyOfCells(db, cells, sweepIds),
    realPrecisionShare: new Map(shares),
    tunedBatch: tunedBatches(db, cells, runs),
    efficiency: await cellEfficiencies(db, cells, runs, sweepIds, io),
  });
  return {
    ...deployments,
    sweeps,
    /** All cells of the sweeps; none where a filter hides some. */
    planned: filter === undefined ? cells : [],
    /** Why these numbers are not fully comparable: other GPUs, other versions. */
    notes: [
      ...deployments.ineligible.map(({ cell, because }) => `excluded: ${cellLabel(cell)}: ${because}`),
      ...sides.flatMap(({ note }) => note ?? []),
      ...(outside === 0 ? [] : [`${count(outside, 'cell')} of other matrices or imports left out: --at names a sweep`]),
      ...(others === 0 ? [] : [`${count(others, 'cell')} on another GPU model left out: --at names their sweep`]),
      ...mixedNotes('GPU models', environments, 'gpuName'),
      ...mixedNotes('TensorRT versions', environments, 'tensorrt'),
    ],
  };
}

function mixedNotes(what: string, environments: readonly Environment[], field: 'gpuName' | 'tensorrt'): string[] {
  const found = new Set(environments.flatMap((environment) => environment[field] ?? []));
  return found.size > 1 ? [`different ${what} side by side: ${[...found].toSorted().join(', ')}`] : [];
}

export function aboutSweeps({ notes, sweeps }: ChosenDeployments) {
  return { sweepIds: sweeps.map(({ sweepId }) => sweepId), provenance: sweeps[0]?.provenance ?? null, notes };
}

export function deploymentOutput(deployment: Deployment): DeploymentOutput {
  const { cell, runsLatencyMs: _, runsQps, accuracy, realPrecisionShare, ...numbers } = deployment;
  const { key, model, precision, precisionVia, streams } = cell;
  const about = { key, label: cellLabel(cell), model, precision, precisionVia, streams, runs: runsQps.length };
  // FP32 is the reference for accuracy.
  const unchecked = precision === 'fp32' ? 'reference' : 'notChecked';
  const accuracyState = accuracy === null ? unchecked : 'checked';
  return { ...about, ...numbers, accuracy, accuracyState, realPrecisionShare };
}

/** `34.2 dB`, or the words for an unchecked variant. The speed of a lossy variant is always shown with one of them. */
export function accuracyText({ accuracy, accuracyState }: DeploymentOutput): string {
  if (accuracy === null) return accuracyState === 'reference' ? 'reference' : 'not checked';
  return formatDecibels(accuracy.sqnrDb);
}

export function sweepsLine(sweeps: readonly Sweep[]): string {
  const parts = sweeps.map((sweep) =>
    dotted([provenanceText(sweep), `sweep ${sweep.sweepId.slice(0, 8)}`, printable(sweep.matrix ?? sweep.name ?? '')]),
  );
  return parts.join(' + ');
}
