import type { Plan, PlannedBuild } from '../../records/plan.ts';

/** Without any record: small networks took 15 to 60 s on an H200, large ones minutes. */
export const BUILD_ESTIMATE_S = 60;

/** Seconds for a small model; ViT-B took 50 (ModelOpt 0.47.0 on 2 cores). */
export const VARIANT_ESTIMATE_S = 30;

/** Seconds of an answer from recordings. */
const RECORDED_S = 0.1;

/** Seconds; none for an engine that is given. */
export function buildEstimateS({ args }: Pick<PlannedBuild, 'args'>): number {
  return args.length === 0 ? 0 : BUILD_ESTIMATE_S;
}

/** Seconds that a whole plan takes, its builds and variants included. */
export function planEstimateS({ builds, runs, variants }: Plan, isReplay: boolean): number {
  if (isReplay) return (builds.length + runs.length) * RECORDED_S;
  const buildsS = builds.reduce((sum, build) => sum + buildEstimateS(build), 0);
  return variants.length * VARIANT_ESTIMATE_S + buildsS + runs.reduce((sum, run) => sum + run.estimateS, 0);
}
