import type { Plan, PlannedBuild } from '../../records/plan.ts';

/** Without any record: small networks took 15 to 60 s on an H200, large ones minutes. */
export const BUILD_ESTIMATE_S = 60;

/** Seconds for a small model; ViT-B took 50 (ModelOpt 0.47.0 on 2 cores). */
const VARIANT_ESTIMATE_S = 30;

/** Seconds of an answer from recordings. */
const RECORDED_S = 0.1;

/** Without engines that are given. */
export function engineBuilds(builds: readonly PlannedBuild[]): PlannedBuild[] {
  return builds.filter(({ args }) => args.length > 0);
}

/** Seconds that these steps take, one after the other. */
export function estimateS(
  { builds, runs, variants }: Pick<Plan, 'builds' | 'runs' | 'variants'>,
  isReplay: boolean,
): number {
  const built = engineBuilds(builds).length;
  if (isReplay) return (variants.length + built + runs.length) * RECORDED_S;
  const runsS = runs.reduce((sum, run) => sum + run.estimateS, 0);
  return variants.length * VARIANT_ESTIMATE_S + built * BUILD_ESTIMATE_S + runsS;
}
