import { answerSlo } from './slo.ts';
import { workloadsOf } from '../../judge/deployment.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import { jsonText } from '../../text/printable.ts';
import { sloJson, sloText } from './slo-text.ts';
import { chosenDeployments, type DeploymentOptions } from './deployments.ts';
import { type Io, printLines } from '../../cli/io.ts';
import { withStore } from '../../cli/with-store.ts';

export interface SloOptions extends DeploymentOptions {
  readonly json?: boolean;
  readonly db?: string;
  readonly maxLatency: number;
  readonly metric: 'median' | 'p99';
  readonly minSqnr?: number;
}

/**
 * `bench slo --max-latency MS`: of each model the deployment with the most throughput within the limits. The exit code
 * is `incomplete` when a model has none.
 */
export function slo(options: SloOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const chosen = await chosenDeployments(db, options, io);
    const limits = { maxLatencyMs: options.maxLatency, metric: options.metric, minSqnrDb: options.minSqnr ?? null };
    const answers = workloadsOf(chosen.measured).flatMap((workload) => answerSlo(workload, limits) ?? []);
    const report = { ...chosen, limits, answers };
    if (options.json === true) io.out(`${jsonText(sloJson(report))}\n`);
    else printLines(io, sloText(report, io.look));
    const isAnswered = answers.length > 0 && answers.every(({ fitting }) => fitting.length > 0);
    return isAnswered ? EXIT_CODES.fine : EXIT_CODES.incomplete;
  });
}
