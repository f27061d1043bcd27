import { buildEngine, definitionOf, engineKeyOf, modelIdentity } from './build-engine.ts';
import type { CachedEngine } from './engine-cache.ts';
import { engineName } from './engine-index.ts';
import { type EngineState, type LoadableEngine, earlierBuild, loadableEngine } from './engine-state.ts';
import { isSameLibrary } from './timing-caches.ts';
import { UsageError } from '../errors.ts';
import { type LockHolder, holderText } from '../process/lock.ts';
import { type FailureReason, type Outcome, outcomeReason } from '../records/outcome.ts';
import type { PlannedBuild } from '../records/plan.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import { COMPARE_BRANCH } from '../records/sweep.ts';
import { engineKeysOf } from '../store/runs/runs.ts';
import { hashOf } from '../text/canonical-json.ts';
import { printable } from '../text/printable.ts';
import { storeFailedVariant, type Variants, variantsOf } from '../variants/sweep-variants.ts';
import { isFlagIn } from '../trtexec/flags/flag-table.ts';
import { askPlanVersion, mayLoad } from '../trtexec/program/find-trtexec.ts';
import { parseTensorrtVersion } from '../text/version.ts';

/** Engines of a sweep. The first worker provides each engine once per GPU model, and the others share it. */
export class EnginePool {
  private readonly builds: ReadonlyMap<string, PlannedBuild>;
  private readonly variants: Variants;
  private readonly states = new Map<string, Promise<EngineState>>();
  private readonly onFailure: (outcome: Outcome) => void;

  constructor(context: SweepContext, onFailure: (outcome: Outcome) => void) {
    this.builds = new Map(context.plan.builds.map((build) => [build.buildRef, build]));
    this.variants = variantsOf(context);
    this.onFailure = onFailure;
  }

  async fill(context: SweepContext, buildRefs: readonly string[]): Promise<void> {
    for (const buildRef of buildRefs) {
      context.signal.throwIfAborted();
      if (!this.states.has(nameOf(context, buildRef))) await this.engine(context, buildRef);
    }
  }

  /** Waits for the engine and checks it again; null for an unknown reference. */
  async engine(context: SweepContext, buildRef: string): Promise<EngineState | null> {
    const build = this.builds.get(buildRef);
    if (build === undefined) return null;
    const name = nameOf(context, buildRef);
    const providing = this.provide(context, build, this.states.get(name));
    // Waiters receive the error; without this line it would end the program first.
    providing.catch(() => {});
    this.states.set(name, providing);
    return providing;
  }

  /** Checks a known engine again just before use. If its bytes changed, it is rebuilt; a given one is rejected. */
  private async provide(
    context: SweepContext,
    build: PlannedBuild,
    known: Promise<EngineState> | undefined,
  ): Promise<EngineState> {
    const state = await known;
    if (state?.kind === 'failed') return state;
    if (state !== undefined) {
      const { path, sha256 } = state.engine;
      if ((await context.cache.hashes.sha256Of(path)) === sha256) return state;
      const text = `${path} has changed since the sweep began: its other runs are left out`;
      if (build.enginePath !== null) return refusedEngine(context, build, 'engineInvalid', text);
    }
    const provided = await provideEngine(context, build, this.variants);
    if (state === undefined && provided.kind === 'failed') this.onFailure(provided.outcome);
    return provided;
  }

  /**
   * If trtexec could not load an engine although its content is unchanged, the other runs of this sweep are
   * skipped, because they would fail equally. bench removes it, so that the next sweep builds it again, unless it was
   * given, is frozen, pinned or a last good one.
   */
  async afterRun(
    context: SweepContext,
    buildRef: string,
    { buildId, engineKey }: LoadableEngine,
    outcome: Outcome,
  ): Promise<void> {
    const { cache, onNote, program } = context;
    const build = this.builds.get(buildRef);
    if (outcomeReason(outcome) !== 'engineInvalid' || build === undefined || program.recordings !== null) return;
    const isFixed = build.isFrozen || engineKey === null || buildId === null || (await cache.isKept(buildId));
    const [engine] = isFixed ? [] : await cache.builds((note) => note.buildId === buildId);
    const isGone = engine !== undefined && (await cache.unlink({ ...engine.note, ...engine }));
    const next = isGone
      ? 'the next sweep builds it again'
      : 'its file stays, because it is given, frozen, pinned, in use or a last good one';
    onNote(`the engine ${build.label} does not load; ${next}`);
    this.states.set(nameOf(context, buildRef), Promise.resolve({ kind: 'failed', outcome }));
  }
}

function nameOf({ otherModel }: SweepContext, buildRef: string): string {
  return `${buildRef} ${otherModel ?? ''}`;
}

/** Finds or builds the engine. A failed build is a result: its cells are skipped, others go on. */
export async function provideEngine(
  context: SweepContext,
  build: PlannedBuild,
  variants: Variants,
): Promise<EngineState> {
  if (build.enginePath !== null) return givenEngine(context, build, build.enginePath);
  const frozen = build.isFrozen ? await frozenEngine(context, build) : null;
  if (frozen !== null) {
    if (frozen.kind === 'ready') refuseOtherEngine(context, build, frozen.engine.engineKey ?? '');
    return frozen;
  }
  const earlier = earlierBuild(context, build);
  // Failed conversions and builds are not retried in the same sweep.
  if (build.variantRef !== null && earlier.failed !== null) {
    return { kind: 'failed', outcome: earlier.failed };
  }
  const variant = build.variantRef === null ? null : await variants(build.variantRef);
  if (variant?.kind === 'failed') {
    const outcome = await storeFailedVariant(context, build, earlier.runId, variant);
    return { kind: 'failed', outcome };
  }
  const modelSha256 = variant?.record.sha256 ?? (await modelIdentity(context, build));
  const engineKey = await engineKeyOf(context, build, modelSha256);
  const { cache, now } = context;
  const buildAnew = async (): Promise<EngineState> => {
    refuseOtherEngine(context, build, engineKey);
    // Check again: during the wait its build may have failed.
    const { failed, runId } = earlierBuild(context, build);
    if (failed !== null) return { kind: 'failed', outcome: failed };
    return buildEngine(context, build, { engineKey, modelSha256, runId, variant });
  };
  const name = engineName({ engineKey, number: build.number });
  const made = { variant: variant?.record ?? null, variantPath: variant?.path ?? null };
  return held(context, build, name, async () => {
    const cached = await usableEngine(context, build, engineKey);
    const state: EngineState =
      cached === null ? await buildAnew() : { kind: 'ready', engine: loadableEngine(cached, made) };
    if (cached !== null) context.onEvent({ kind: 'buildReady', build, how: 'cached', buildS: null });
    const buildId = state.kind === 'ready' && build.isFrozen ? state.engine.buildId : null;
    if (buildId !== null) {
      await cache.index.change(({ frozen: engines }) => {
        engines[definitionOf(context, build)] = { name, buildId, since: now().toISOString() };
      });
      context.onNote(`${build.label} is frozen to this engine from now on`);
    }
    return state;
  });
}

/** Marks an engine as used, and locks it during the work. */
async function held<Result>(
  { cache, now, onNote, signal }: SweepContext,
  build: PlannedBuild,
  name: string,
  work: () => Promise<Result>,
): Promise<Result> {
  await cache.use(name, now());
  const onWait = (holder: LockHolder): void =>
    onNote(`${build.label}: waiting for ${holderText(holder)}, which builds the same engine`);
  return cache.hold(name, { signal, onWait }, work);
}

/** Rejects an engine before anything ran. The runs of its cells are skipped, and the others go on. */
function refusedEngine(
  { onEvent, onNote }: SweepContext,
  build: PlannedBuild,
  reason: FailureReason,
  text: string,
): EngineState {
  const outcome: Outcome = { kind: 'failed', reason, evidence: [{ stream: 'stderr', line: 0, text }] };
  onNote(`${build.label}: ${text}`);
  onEvent({ kind: 'buildFailed', build, outcome, runId: null });
  return { kind: 'failed', outcome };
}

/** The newest cached engine that this TensorRT may load. One whose bytes have changed is removed. */
async function usableEngine(
  { cache, onNote, processFacts }: SweepContext,
  build: PlannedBuild,
  engineKey: string,
): Promise<CachedEngine | null> {
  const tensorrtLibrary = processFacts?.libraryVersion ?? null;
  const known = await cache.builds((note) => note.engineKey === engineKey && note.number === build.number);
  const isLoadable = ({ note }: CachedEngine): boolean => isSameLibrary(note, { tensorrtLibrary });
  for (const engine of known.filter(isLoadable)) {
    if (await cache.isWhole(engine)) return engine;
    await cache.unlink({ ...engine.note, ...engine });
    onNote(`the file of the engine ${build.label} was changed or removed, so bench rebuilds it`);
  }
  return null;
}

/** A resumed sweep must not mix runs of two engines. It measures the model as it was at its start. */
function refuseOtherEngine(
  { db, mayChangeEngines, plan, sweep }: SweepContext,
  build: PlannedBuild,
  engineKey: string,
): void {
  if (mayChangeEngines) return;
  const keys = plan.runs.filter(({ buildRef }) => buildRef === build.buildRef).map(({ cellKey }) => cellKey);
  const before = engineKeysOf(db, sweep.sweepId, keys).find((key) => key !== engineKey);
  if (before === undefined) return;
  const advice = sweep.branch === COMPARE_BRANCH ? 'measure again with --force' : 'start a new sweep, or add --anyway';
  throw new UsageError(
    `${printable(build.label)}: its model, a file of its build or the machine changed since sweep ${sweep.sweepId.slice(0, 8)} began: ${advice}`,
  );
}

// Engines that are never built for a sweep: given files, and frozen engines.

/** An engine file named in the matrix: used unchanged, if this TensorRT can load it. */
async function givenEngine(context: SweepContext, build: PlannedBuild, path: string): Promise<EngineState> {
  const { cache, onEvent } = context;
  const sha256 = await cache.hashes.sha256Of(path);
  if (sha256 === null) throw new UsageError(`${printable(path)}: engine not found or not readable`);
  const problem = await loadProblem(context, path);
  if (problem !== null) {
    return refusedEngine(context, build, 'engineInvalid', `${path} ${problem}: build it again`);
  }
  onEvent({ kind: 'buildReady', build, how: 'given', buildS: null });
  const { flags, model } = build;
  const stated = { model, modelSha256: null, flags: [...flags] };
  const known =
    flags.length === 0 ? { buildId: sha256.slice(0, 32) } : { buildId: hashOf({ sha256, ...stated }), build: stated };
  const unknown = { engineKey: null, variant: null, variantPath: null, notes: [] };
  return { kind: 'ready', engine: { path, sha256, ...known, ...unknown } };
}

/** Null if there is none. A frozen engine that is lost or no longer loads is never replaced silently. */
async function frozenEngine(context: SweepContext, build: PlannedBuild): Promise<EngineState | null> {
  const { cache, onEvent, onNote } = context;
  const { [definitionOf(context, build)]: frozen } = (await cache.index.read()).frozen;
  if (frozen === undefined) return null;
  const engine = await held(context, build, frozen.name, () => cache.findBuild(frozen.buildId));
  const tensorrtLibrary = context.processFacts?.libraryVersion ?? null;
  const isOfThis = engine?.note.tensorrt === context.plan.tensorrt && isSameLibrary(engine.note, { tensorrtLibrary });
  const unloadable = engine === null || isOfThis ? null : await loadProblem(context, engine.path);
  const problem = engine === null ? 'has changed or was removed' : unloadable;
  if (engine === null || problem !== null) {
    const advice = `remove it with \`bench engines rm ${frozen.name.slice(0, 8)}\`, and the next run freezes a new engine`;
    const text = `its engine, frozen since ${frozen.since.slice(0, 10)}, ${problem}: ${advice}`;
    return refusedEngine(context, build, engine === null ? 'engineMissing' : 'engineInvalid', text);
  }
  onEvent({ kind: 'buildReady', build, how: 'frozen', buildS: null });
  const modelSha256 = build.variantRef === null ? await modelIdentity(context, build) : null;
  if (modelSha256 !== null && (await engineKeyOf(context, build, modelSha256)) !== engine.note.engineKey) {
    onNote(
      `${build.label} runs its frozen engine of ${frozen.since.slice(0, 10)}: model, TensorRT or driver have changed since`,
    );
  }
  return { kind: 'ready', engine: loadableEngine(engine, { notes: [`frozen engine, since ${frozen.since}`] }) };
}

/** Why an engine cannot be loaded; null if unknown. One short process replaces the failure of every run. */
async function loadProblem(
  { onNote, plan, processFacts, program, signal }: SweepContext,
  path: string,
): Promise<string | null> {
  const version = parseTensorrtVersion(plan.tensorrt);
  if (program.recordings !== null || version === null) return null;
  if (!isFlagIn('--getPlanVersionOnly', version)) return null;
  const built = await askPlanVersion(program, signal, path);
  if (built === null) return null;
  const running = processFacts?.libraryVersion ?? plan.tensorrt;
  if (!mayLoad(built, running)) return `was built with TensorRT ${built}, which ${running} cannot load`;
  const how = `was built with TensorRT ${built}: ${running} loads it only if it is version-compatible`;
  if (!built.startsWith(running)) onNote(`${path} ${how}`);
  return null;
}
