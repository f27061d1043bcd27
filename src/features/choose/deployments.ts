import { tunedBatches } from '../../selection/tuned-batches.ts';
import { cellsOfSweeps } from '../../selection/by-name.ts';
import { isColdStart } from '../../records/harness.ts';
import { LEAST_PRECISION_SHARE, type RealPrecision } from '../../layers/summarize-layers.ts';
import { formatDecibels, formatNumber, formatPercent } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { type Deployment, type Deployments, deploymentsOf } from '../../judge/deployment.ts';
import { cellLabel, inLabelOrder } from '../../records/cell-label.ts';
import { UsageError } from '../../errors.ts';
import type { Sweep } from '../../records/sweep.ts';
import { accuracyOfCells } from '../../store/runs/accuracies.ts';
import { cellRunsOf } from '../../store/runs/cell-runs.ts';
import { findEnvironments } from '../../store/sweeps/environments.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import type { DeploymentOutput } from './output.ts';
import type { Io } from '../../cli/io.ts';
import { LayerSources, realPrecisionsOf } from '../../selection/actual-precisions.ts';
import { cellEfficiencies } from '../../selection/engine-efficiency.ts';
import { resolveSide } from '../../selection/sides.ts';

export interface DeploymentOptions {
  readonly at?: readonly string[];
  readonly filter?: string;
  readonly branch?: string;
}

export interface ChosenDeployments extends Deployments {
  readonly sweeps: readonly Sweep[];
  /** Why these numbers are not fully comparable: other GPUs, other versions. */
  readonly notes: readonly string[];
}

/** Cells of the newest sweep, or of all `--at` sweeps together, as deployments. */
export async function chosenDeployments(
  db: StoreDatabase,
  { at, branch, filter }: DeploymentOptions,
  io: Io,
): Promise<ChosenDeployments> {
  const sides = [];
  for (const ref of at ?? ['latest']) sides.push(await resolveSide(db, ref, io, { branch }));
  const byId = new Map(sides.flatMap(({ sweeps }) => sweeps).map((sweep) => [sweep.sweepId, sweep]));
  const sweeps = [...byId.values()];
  const provenances = [...new Set(sweeps.map(({ provenance }) => provenance))];
  if (provenances.length > 1) {
    throw new UsageError(`these sweeps are ${provenances.join(' and ')}: one table cannot mix them`);
  }
  const sweepIds = [...byId.keys()];
  const cells = inLabelOrder(cellsOfSweeps(db, sweepIds, filter).filter((cell) => !isColdStart(cell)));
  if (cells.length === 0) {
    throw new UsageError('no cell of these sweeps matches the filter; see `bench ls cells`');
  }
  const keys = cells.map(({ key }) => key);
  const runs = cellRunsOf(db, sweepIds, keys);
  const environments = findEnvironments(db, [...new Set(runs.map((run) => run.environmentId))]);
  const sources = new LayerSources(db, runs, sweepIds);
  const facts = {
    accuracy: accuracyOfCells(db, cells, sweepIds),
    realPrecisionShare: sharesOf(realPrecisionsOf(sources, cells)),
    tunedBatch: tunedBatches(db, cells, runs),
    efficiency: await cellEfficiencies(db, cells, runs, sources, io),
  };
  const deployments = deploymentsOf(cells, runs, facts);
  return {
    ...deployments,
    sweeps,
    notes: [
      ...deployments.ineligible.map(({ cell, because }) => `excluded: ${cellLabel(cell)}: ${because}`),
      ...sides.flatMap(({ note }) => note ?? []),
      ...mixedNotes('GPU models', [...environments.values()], ({ gpuName }) => gpuName),
      ...mixedNotes('TensorRT versions', [...environments.values()], ({ tensorrt }) => tensorrt),
    ],
  };
}

/** Shares of the time if there is a profile, else shares of the layers. */
function sharesOf(real: ReadonlyMap<string, RealPrecision>) {
  return new Map(
    [...real].map(([key, { timeShares, layerShares }]) => [
      key,
      Object.keys(timeShares).length > 0 ? timeShares : layerShares,
    ]),
  );
}

function mixedNotes<Environment>(
  what: string,
  environments: readonly Environment[],
  of: (environment: Environment) => string | null,
): string[] {
  const found = new Set(environments.flatMap((environment) => of(environment) ?? []));
  return found.size > 1 ? [`different ${what} side by side: ${[...found].toSorted().join(', ')}`] : [];
}

export function aboutSweeps({ notes, sweeps }: ChosenDeployments) {
  return { sweepIds: sweeps.map(({ sweepId }) => sweepId), provenance: sweeps[0]?.provenance ?? null, notes };
}

export function deploymentOutput(deployment: Deployment): DeploymentOutput {
  const { cell, runsQps, accuracy, realPrecisionShare, ...numbers } = deployment;
  // FP32 is the reference for accuracy.
  const unchecked = cell.precision === 'fp32' ? 'reference' : 'notChecked';
  return {
    key: cell.key,
    label: cellLabel(cell),
    model: cell.model,
    precision: cell.precision,
    precisionVia: cell.precisionVia,
    runs: runsQps.length,
    ...numbers,
    accuracy,
    accuracyState: accuracy === null ? unchecked : 'checked',
    realPrecisionShare,
  };
}

/** `34.2 dB`, or the words for an unchecked variant. The speed of a lossy variant is always shown with one of them. */
export function accuracyText({ accuracy, accuracyState }: DeploymentOutput): string {
  if (accuracy === null) return accuracyState === 'reference' ? 'reference' : 'not checked';
  return formatDecibels(accuracy.sqnrDb);
}

const QUANTIZED = ['fp8', 'int8', 'int4'];

/** `fp8 62 %`: actual precision share, of the time with a profile, else of the layers. `✗` marks less than half. */
export function shareText({ precision, realPrecisionShare }: DeploymentOutput): string {
  if (realPrecisionShare === null || !QUANTIZED.includes(precision)) return '';
  const share = realPrecisionShare[precision] ?? 0;
  const sign = share < LEAST_PRECISION_SHARE ? '✗ ' : '';
  return `${sign}${precision} ${formatPercent(share * 100, false)}`;
}

/** `26.6 %` of the dense peak; empty if unknown. */
export function peakText({ efficiency }: Pick<DeploymentOutput, 'efficiency'>): string {
  const share = efficiency?.peakShare ?? null;
  return share === null ? '' : formatPercent(share * 100, false);
}

/** `68.3 ±0.4 %`: millijoules per item, else per query. */
export function energyText({ energy }: Pick<DeploymentOutput, 'energy'>): string {
  if (energy === null) return '';
  const { intervalPercent, perItemMj, perQueryMj } = energy;
  const spread = intervalPercent === null ? '' : ` ±${formatPercent(intervalPercent, false)}`;
  return `${formatNumber(perItemMj ?? perQueryMj)}${spread}`;
}

export function sweepsLine(sweeps: readonly Sweep[]): string {
  return sweeps
    .map(({ sweepId, matrix, name, provenance, recordingSet }) =>
      [
        recordingSet === null ? provenance : `${provenance} (${printable(recordingSet)})`,
        `sweep ${sweepId.slice(0, 8)}`,
        printable(matrix ?? name ?? ''),
      ]
        .filter((part) => part !== '')
        .join(' · '),
    )
    .join(' + ');
}
