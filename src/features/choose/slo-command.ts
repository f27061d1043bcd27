import { answerSlo, type SloCandidate } from './slo.ts';
import { workloadsOf } from '../../judge/deployment.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { SloOutput } from './output.ts';
import { sloText } from './slo-text.ts';
import { aboutSweeps, chosenDeployments, deploymentOutput } from './deployments.ts';
import type { Io } from '../../cli/io.ts';
import { printResult } from '../../cli/print-result.ts';
import { withStore } from '../../cli/with-store.ts';
import type { ChooseOptions } from './command.ts';

/**
 * `bench choose --max-latency MS`: of each model the deployment with the most throughput within the limits. The exit code
 * is `incomplete` when a model has none.
 */
export function slo(options: ChooseOptions & { readonly maxLatency: number }, io: Io): Promise<ExitCode> {
  return withStore(options, io, async ({ db }) => {
    const chosen = await chosenDeployments(db, options, io);
    const limits = { maxLatencyMs: options.maxLatency, metric: options.metric, minSqnrDb: options.minSqnr ?? null };
    const answers = workloadsOf(chosen.measured).flatMap((workload) => answerSlo(workload, limits) ?? []);
    const output: SloOutput = {
      schemaVersion: 1,
      ...aboutSweeps(chosen),
      limits,
      models: answers.map(({ example, fitting, nearest, candidates }) => ({
        model: example.model,
        candidates,
        fitting: fitting.length,
        winner: candidateOutput(fitting[0]),
        runnerUp: candidateOutput(fitting[1]),
        nearest: candidateOutput(fitting.length === 0 ? (nearest ?? undefined) : undefined),
      })),
    };
    printResult(io, options, output, (_, look) => sloText(output, chosen.sweeps, look));
    const isAnswered = answers.length > 0 && answers.every(({ fitting }) => fitting.length > 0);
    return isAnswered ? EXIT_CODES.fine : EXIT_CODES.incomplete;
  });
}

function candidateOutput(candidate: SloCandidate | undefined): SloOutput['models'][number]['winner'] {
  if (candidate === undefined) return null;
  const { deployment, latencyMs, headRoomPercent, accuracy } = candidate;
  return { ...deploymentOutput(deployment), limitedMs: latencyMs, headRoomPercent, accuracyLimit: accuracy };
}
