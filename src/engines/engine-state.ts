import type { CachedEngine } from './engine-cache.ts';
import { holderText, type LockWait } from '../process/lock.ts';
import { hashOf } from '../text/canonical-json.ts';
import { type FailureReason, isFine, type Outcome } from '../records/outcome.ts';
import { PLACEHOLDERS, type PlannedBuild, buildRefsOf } from '../records/plan.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import { findOutcome } from '../store/runs/runs.ts';
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
  readonly variant: VariantRecord | null;
  readonly variantPath: string | null;
  readonly notes: readonly string[];
}

export function readyEngine(
  cached: CachedEngine,
  variant: VariantRecord | null,
  notes: readonly string[],
  variantPath: string | null = null,
): EngineState {
  return { kind: 'ready', engine: { ...loadableEngine(cached), variant, variantPath, notes } };
}

export function loadableEngine({ path, note }: CachedEngine): LoadableEngine {
  const { buildId, engineKey, sha256, variant } = note;
  return { path, sha256, engineKey, buildId, variant, variantPath: null, notes: [] };
}

/** Rejects an engine before anything ran. The runs of its cells are skipped, and the others go on. */
export function refusedEngine(
  { onEvent }: SweepContext,
  build: PlannedBuild,
  reason: FailureReason,
  text: string,
): EngineState {
  const outcome: Outcome = { kind: 'failed', reason, evidence: [{ stream: 'stderr', line: 0, text }] };
  onEvent({ kind: 'note', text: `${build.label}: ${text}` });
  onEvent({ kind: 'buildFailed', build, outcome, runId: null });
  return { kind: 'failed', outcome };
}

/** The options that bench completes with a path. It leaves options of the user as they are. */
const FILLED = {
  '--onnx': 'variant',
  '--refitFromOnnx': 'variant',
  '--saveEngine': 'engine',
  '--loadEngine': 'engine',
  '--timingCacheFile': 'timingCache',
} as const;

/** A planned command line with its paths. A placeholder without a path stays. */
export function filledArgs(
  args: readonly string[],
  paths: Partial<Record<(typeof FILLED)[keyof typeof FILLED], string | null>>,
): string[] {
  const filled = new Map(
    Object.entries(FILLED).map(([flag, name]) => [`${flag}=${PLACEHOLDERS[name]}`, [flag, paths[name]] as const]),
  );
  return args.map((arg) => {
    const [flag, path = null] = filled.get(arg) ?? [];
    return path === null ? arg : `${flag}=${path}`;
  });
}

export function lockWait({ onEvent, signal }: Pick<SweepContext, 'onEvent' | 'signal'>, build: PlannedBuild): LockWait {
  return {
    signal,
    onWait: (holder) => {
      const text = `${build.label}: waiting for ${holderText(holder)}, which builds the same engine`;
      onEvent({ kind: 'note', text });
    },
  };
}

/** Failures by cell key, for cells without a run whose engines all exist. */
export function cellsWithoutEngine(
  db: SweepContext['db'],
  sweep: SweepContext['sweep'],
  { builds, cells, runs }: SweepContext['plan'],
): Map<string, Outcome> {
  const failed = failedBuilds(db, sweep, builds);
  const buildsOf = Map.groupBy(runs, ({ cellKey }) => cellKey);
  return new Map(
    cells.flatMap(({ cell, buildRef }): [string, Outcome][] => {
      const runsOfCell = buildsOf.get(cell.key) ?? [];
      const refs = [buildRef, ...runsOfCell.flatMap(buildRefsOf)];
      const outcome = refs.map((ref) => failed.get(ref)?.outcome).find((each) => each !== undefined);
      const hasOne = runsOfCell.some((run) => buildRefsOf(run).every((ref) => !failed.has(ref)));
      return outcome === undefined || hasOne ? [] : [[cell.key, outcome]];
    }),
  );
}

interface FailedBuild {
  readonly runId: RunId;
  readonly outcome: Outcome;
}

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

/** A rebuild happens only after an engine was lost, so there are few builds. */
const MOST_BUILDS = 20;

export function plannedBuildOf({ builds }: SweepContext['plan'], sweepId: SweepId, runId: RunId): PlannedBuild | null {
  const numbers = Array.from({ length: MOST_BUILDS }, (_, index) => index + 1);
  return (
    builds.find(({ buildRef }) => numbers.some((number) => buildRunId(sweepId, buildRef, number, null) === runId)) ??
    null
  );
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
