import { dominatorsOf } from '../analyse/choose/front.ts';
import { workloadsOf } from '../analyse/choose/deployment.ts';
import { scalingOf } from '../analyse/choose/scaling.ts';
import { speedUpsOf, tallyPrecisions } from '../analyse/choose/speed-ups.ts';
import { EXIT_CODES, type ExitCode } from '../domain/exit-codes.ts';
import { jsonText } from '../domain/printable.ts';
import { paretoJson, type ParetoReport, paretoText } from '../report/pareto-report.ts';
import type { StoreDatabase } from '../store/open.ts';
import { chosenDeployments, type DeploymentOptions } from './deployments.ts';
import { type Io, printLines } from './io.ts';
import { withStore } from './with-store.ts';

export interface ParetoOptions extends DeploymentOptions {
  readonly json?: boolean;
  readonly db?: string;
  readonly chart?: boolean;
  /** Samples a second by batch as well. */
  readonly scaling?: boolean;
}

/** `bench pareto`: speed, accuracy and memory of every precision and batch beside each other. */
export function pareto(options: ParetoOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const report = await paretoReport(db, options, io);
    if (options.json === true) io.out(`${jsonText(paretoJson(report))}\n`);
    else printLines(io, paretoText(report, io.look));
    return EXIT_CODES.fine;
  });
}

/** What `bench pareto` says of some sweeps. */
export async function paretoReport(
  db: StoreDatabase,
  options: ParetoOptions,
  io: Io,
): Promise<ParetoReport> {
  const chosen = await chosenDeployments(db, options, io);
  const speedUps = speedUpsOf(chosen.measured);
  const workloads = workloadsOf(chosen.measured);
  return {
    ...chosen,
    workloads,
    dominators: new Map(workloads.flatMap((workload) => [...dominatorsOf(workload)])),
    speedUps,
    scaling: scalingOf(chosen.measured),
    showsScaling: options.scaling === true,
    tallies: tallyPrecisions(chosen.measured, speedUps),
    chart: options.chart !== false,
  };
}
