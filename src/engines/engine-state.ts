import type { RunManifest } from '../artefacts/run-manifest.ts';
import type { CachedEngine } from './engine-cache.ts';
import { hashOf } from '../text/canonical-json.ts';
import { isFine, type Outcome } from '../records/outcome.ts';
import { type Plan, type PlannedBuild, buildRefsOf } from '../records/plan.ts';
import { cellLabel } from '../records/cell.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import { findCells } from '../store/cells.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { type FailedRun, failedRunsOf, findOutcome } from '../store/runs/runs.ts';
import { failureOf, type SweepFailure } from '../terminal/failure-section.ts';
import type { VariantRecord } from '../records/conversion.ts';
import type { BuildId, RunId, SweepId } from '../records/scalars.ts';

export type EngineState =
  | { readonly kind: 'ready'; readonly engine: LoadableEngine }
  | { readonly kind: 'failed'; readonly outcome: Outcome };

export interface LoadableEngine {
  readonly path: string;
  readonly sha256: string;
  readonly engineKey: string | null;
  readonly buildId: BuildId | null;
  /** What the matrix states of the build of a given engine. */
  readonly build?: RunManifest['build'];
  readonly variant: VariantRecord | null;
  readonly variantPath: string | null;
  readonly notes: readonly string[];
}

export function loadableEngine({ path, note }: CachedEngine, more: Partial<LoadableEngine> = {}): LoadableEngine {
  const { buildId, engineKey, sha256, variant } = note;
  return { path, sha256, engineKey, buildId, variant, variantPath: null, notes: [], ...more };
}

/** The options that bench completes with a path: see `PLACEHOLDERS`. It leaves options of the user as they are. */
const FILLED = /^(--(?:onnx|refitFromOnnx|saveEngine|loadEngine|timingCacheFile)=)\{(variant|engine|timingCache)\}$/;

/** A planned command line with its paths. A placeholder without a path stays. */
export function filledArgs(
  args: readonly string[],
  paths: { readonly engine?: string; readonly timingCache?: string; readonly variant?: string | null },
): string[] {
  const pathOf = new Map(Object.entries(paths));
  return args.map((arg) => {
    const [, flag = '', name = ''] = FILLED.exec(arg) ?? [];
    const path = pathOf.get(name) ?? null;
    return path === null ? arg : flag + path;
  });
}

/** Failures of builds by cell key, for cells without a run whose engines all exist. */
export function cellsWithoutEngine(db: StoreDatabase, sweep: SweepContext['sweep'], { builds, cells, runs }: Plan) {
  const failed = failedBuilds(db, sweep, builds);
  const buildsOf = Map.groupBy(runs, ({ cellKey }) => cellKey);
  return new Map(
    cells.flatMap(({ cell, buildRef }) => {
      const runsOfCell = buildsOf.get(cell.key) ?? [];
      const refs = [buildRef, ...runsOfCell.flatMap(buildRefsOf)];
      const outcome = refs.map((ref) => failed.get(ref)).find((each) => each !== undefined);
      const hasOne = runsOfCell.some((run) => buildRefsOf(run).every((ref) => !failed.has(ref)));
      return outcome === undefined || hasOne ? [] : [[cell.key, outcome] as const];
    }),
  );
}

/** The builds of a plan that failed, by reference. */
export function failedBuilds(
  db: StoreDatabase,
  sweep: SweepContext['sweep'],
  builds: readonly PlannedBuild[],
): Map<string, Outcome> {
  return new Map(
    builds.flatMap((build): [string, Outcome][] => {
      const { failed } = earlierBuild({ db, otherModel: null, sweep }, build);
      return failed === null ? [] : [[build.buildRef, failed]];
    }),
  );
}

/** @param plan null for imports, which have no plan */
export function sweepFailures(db: StoreDatabase, sweepId: SweepId, plan: Plan | null): SweepFailure[] {
  const failed = failedRunsOf(db, sweepId);
  const cells = findCells(
    db,
    failed.flatMap(({ cellKey }) => cellKey ?? []),
  );
  return failed.map((run) => {
    const cell = cells.get(run.cellKey ?? '');
    return failureOf({ ...run, label: cell === undefined ? (buildLabel(plan, run) ?? 'unnamed') : cellLabel(cell) });
  });
}

/** A rebuild happens only after an engine was lost, so there are few builds. */
const BUILD_NUMBERS = Array.from({ length: 20 }, (_, index) => index + 1);

/** The label of a build in the plan of its sweep; without one, the name of its model. */
export function buildLabel(
  plan: Plan | null,
  { buildModel, runId, sweepId }: Pick<FailedRun, 'buildModel' | 'runId' | 'sweepId'>,
): string | null {
  const build = plan?.builds.find(({ buildRef }) =>
    BUILD_NUMBERS.some((number) => buildRunId(sweepId, buildRef, number, null) === runId),
  );
  return build?.label ?? buildModel;
}

function buildRunId(sweepId: SweepId, buildRef: string, number: number, otherModel: string | null): string {
  return hashOf({ sweepId, buildRef, number, ...(otherModel === null ? {} : { otherModel }) });
}

/** The run id for the build; in a resumed sweep also the outcome of the earlier build. */
export function earlierBuild(
  { db, otherModel, sweep }: Pick<SweepContext, 'db' | 'otherModel' | 'sweep'>,
  build: PlannedBuild,
): { readonly runId: RunId; readonly failed: Outcome | null } {
  for (let number = 1; ; number += 1) {
    const runId = buildRunId(sweep.sweepId, build.buildRef, number, otherModel);
    const outcome = findOutcome(db, runId);
    if (outcome === null) return { runId, failed: null };
    // Built, but the engine was lost: build again under the next number.
    if (!isFine(outcome)) return { runId, failed: outcome };
  }
}
