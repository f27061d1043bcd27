import { isFine, type Outcome } from '../records/outcome.ts';
import type { PlannedBuild } from '../records/plan.ts';
import { hashOf } from '../records/cell-key.ts';
import { findOutcome } from '../store/runs/runs.ts';
import type { SweepContext } from '../run/sweep-context.ts';

/** Why each cell of a sweep has no engine, by its key; only those of which every build failed. */
export function cellsWithoutEngine(
  db: SweepContext['db'],
  sweep: SweepContext['sweep'],
  { builds, cells, runs }: SweepContext['plan'],
): Map<string, Outcome> {
  const failed = failedBuilds(db, sweep, builds);
  const buildsOf = Map.groupBy(runs, ({ cellKey }) => cellKey);
  return new Map(
    cells.flatMap(({ cell, buildRef }): [string, Outcome][] => {
      const outcome = failed.get(buildRef)?.outcome;
      const others = buildsOf.get(cell.key) ?? [];
      const hasOne = others.some((run) => !failed.has(run.buildRef));
      return outcome === undefined || hasOne ? [] : [[cell.key, outcome]];
    }),
  );
}

export interface FailedBuild {
  readonly runId: string;
  readonly outcome: Outcome;
}

/** The builds of a sweep that failed, by their `buildRef`. */
export function failedBuilds(
  db: SweepContext['db'],
  sweep: SweepContext['sweep'],
  builds: readonly PlannedBuild[],
): Map<string, FailedBuild> {
  return new Map(
    builds.flatMap((build): [string, FailedBuild][] => {
      const { failed, runId } = earlierBuild({ db, otherModel: null, sweep }, build);
      return failed === null ? [] : [[build.buildRef, { runId, outcome: failed }]];
    }),
  );
}

/** A build is made anew only when its engine is gone: few are. */
const MOST_BUILDS = 20;

/** Which build of a plan a stored run is; null when it is none of them. */
export function plannedBuildOf({ builds }: SweepContext['plan'], sweepId: string, runId: string): PlannedBuild | null {
  const numbers = Array.from({ length: MOST_BUILDS }, (_, index) => index + 1);
  return (
    builds.find(({ buildRef }) => numbers.some((number) => buildRunId(sweepId, buildRef, number, null) === runId)) ??
    null
  );
}

function buildRunId(sweepId: string, buildRef: string, number: number, otherModel: string | null): string {
  return hashOf({ sweepId, buildRef, number, ...(otherModel === null ? {} : { otherModel }) });
}

/** The id that the build's run gets; when the sweep was interrupted, what became of the build before. */
export function earlierBuild(
  { db, otherModel, sweep }: Pick<SweepContext, 'db' | 'otherModel' | 'sweep'>,
  build: PlannedBuild,
): { readonly runId: string; readonly failed: Outcome | null } {
  for (let number = 1; ; number += 1) {
    const runId = buildRunId(sweep.sweepId, build.buildRef, number, otherModel);
    const outcome = findOutcome(db, runId);
    if (outcome === null) return { runId, failed: null };
    // It was built, but its engine is not there any more: it is built again under the next number.
    if (!isFine(outcome)) return { runId, failed: outcome };
  }
}
