import { dominatorsOf } from './front.ts';
import { workloadsOf } from '../../judge/deployment.ts';
import { scalingOf } from './scaling.ts';
import { speedUpsOf, tallyPrecisions } from './speed-ups.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText } from '../../text/printable.ts';
import { paretoJson, type ParetoReport, paretoText } from './pareto-text.ts';
import type { StoreDatabase } from '../../store/file/open.ts';
import { chosenDeployments, type DeploymentOptions } from './deployments.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';

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
export async function paretoReport(db: StoreDatabase, options: ParetoOptions, io: Io): Promise<ParetoReport> {
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
