import { dominatorsOf } from './front.ts';
import { type Deployment, workloadsOf } from '../../judge/deployment.ts';
import { scalingOf } from './scaling.ts';
import { type SpeedUp, speedUpsOf, tallyPrecisions } from './speed-ups.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { cellLabel } from '../../text/cell-label.ts';
import type { ParetoOutput } from './output.ts';
import { paretoText } from './pareto-text.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { aboutSweeps, chosenDeployments, type DeploymentOptions, deploymentOutput } from './deployments.ts';
import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ChooseOptions } from './command.ts';

/** `bench choose`: speed, accuracy and memory of every precision and batch beside each other. */
export function pareto(options: ChooseOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const { output, details } = await paretoReport(db, options, io);
    const shown = { ...details, chart: options.chart !== false, showsScaling: options.scaling === true };
    printResult(io, options, output, (_, look) => paretoText(output, shown, look));
    return EXIT_CODES.fine;
  });
}

/** What `bench choose` prints of some sweeps. */
export async function paretoReport(db: StoreDatabase, options: DeploymentOptions, io: Io) {
  const chosen = await chosenDeployments(db, options, io);
  const { measured, sweeps, unmeasured } = chosen;
  const speedUps = speedUpsOf(measured);
  const output: ParetoOutput = {
    schemaVersion: 1,
    ...aboutSweeps(chosen),
    workloads: workloadsOf(measured).map((workload) => workloadOutput(workload, speedUps)),
    precisions: tallyPrecisions(measured, speedUps),
    scaling: scalingOf(measured).map(({ from, to, ...step }) => ({
      fromKey: from.cell.key,
      toKey: to.cell.key,
      ...step,
    })),
    unmeasured: unmeasured.map((cell) => ({ key: cell.key, label: cellLabel(cell) })),
  };
  return { output, details: { sweeps, cells: new Map(measured.map(({ cell }) => [cell.key, cell])) } };
}

function workloadOutput(
  workload: readonly Deployment[],
  speedUps: ReadonlyMap<string, SpeedUp>,
): ParetoOutput['workloads'][number] {
  const dominators = dominatorsOf(workload);
  return workload.map((one) => ({
    ...deploymentOutput(one),
    dominatedBy: dominators.get(one)?.cell.key ?? null,
    speedUp: speedUpOutput(speedUps.get(one.cell.key)),
  }));
}

function speedUpOutput(speedUp: SpeedUp | undefined) {
  if (speedUp === undefined) return null;
  const { reference, ...numbers } = speedUp;
  return { referenceKey: reference.cell.key, ...numbers };
}
