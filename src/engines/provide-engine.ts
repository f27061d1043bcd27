import { buildEngine, definitionOf, engineKeyOf, modelIdentity } from './build-engine.ts';
import type { CachedEngine } from './engine-cache.ts';
import { engineName } from './engine-index.ts';
import { earlierBuild, lockWait, readyEngine, refusedEngine, type EngineState } from './engine-state.ts';
import { UsageError } from '../errors.ts';
import type { Outcome } from '../records/outcome.ts';
import type { PlannedBuild } from '../records/plan.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import { COMPARE_BRANCH } from '../records/sweep.ts';
import { engineKeysOf } from '../store/runs/runs.ts';
import { printable } from '../text/printable.ts';
import { Variants, storeFailedVariant } from '../variants/sweep-variants.ts';
import { isFlagIn } from '../trtexec/flags/flag-table.ts';
import { askPlanVersion, loadingOf } from '../trtexec/program/find-trtexec.ts';
import { parseTensorrtVersion } from '../text/version.ts';

/** Engines of a sweep. The first worker provides each engine once per GPU model, and the others share it. */
export class EnginePool {
  private readonly builds: ReadonlyMap<string, PlannedBuild>;
  private readonly variants: Variants;
  private readonly states = new Map<string, Promise<EngineState>>();
  private readonly onFailure: () => void;

  constructor(context: SweepContext, onFailure: () => void) {
    this.builds = new Map(context.plan.builds.map((build) => [build.buildRef, build]));
    this.variants = new Variants(context);
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
    const known = this.states.get(name);
    const providing =
      known === undefined
        ? this.provide(context, build)
        : known.then((state) => intactEngine(context, build, state, this.variants));
    // Waiters receive the error; without this line it would end the program first.
    providing.catch(() => {});
    this.states.set(name, providing);
    return providing;
  }

  async afterRun(
    context: SweepContext,
    buildRef: string,
    state: Extract<EngineState, { kind: 'ready' }>,
    outcome: Outcome,
  ): Promise<void> {
    const next = await engineAfterRun(context, buildRef, state, outcome);
    if (next !== state) this.states.set(nameOf(context, buildRef), Promise.resolve(next));
  }

  private async provide(context: SweepContext, build: PlannedBuild): Promise<EngineState> {
    const state = await provideEngine(context, build, this.variants);
    if (state.kind === 'failed') this.onFailure();
    return state;
  }
}

function nameOf({ otherModel }: SweepContext, buildRef: string): string {
  return `${buildRef} ${otherModel ?? ''}`;
}

/** Checks an engine again just before use. If its bytes changed, it is rebuilt; a given one is rejected. */
async function intactEngine(
  context: SweepContext,
  build: PlannedBuild,
  state: EngineState,
  variants: Variants,
): Promise<EngineState> {
  if (state.kind !== 'ready') return state;
  const { engine } = state;
  if ((await context.cache.hashes.sha256Of(engine.path)) === engine.sha256) return state;
  if (build.enginePath === null) return provideEngine(context, build, variants);
  const text = `${engine.path} has changed since the sweep began: its other runs are left out`;
  return refusedEngine(context, build, 'engineInvalid', text);
}

/**
 * State of a cached engine after a run. If trtexec could not load it although its content is unchanged, the other runs
 * of this sweep are skipped, because they would fail equally. bench removes it, so that the next sweep builds it again,
 * unless it was given, is frozen, pinned or a last good one.
 */
async function engineAfterRun(
  { cache, onEvent, plan, program }: SweepContext,
  buildRef: string,
  state: Extract<EngineState, { kind: 'ready' }>,
  outcome: Outcome,
): Promise<EngineState> {
  const { buildId, engineKey } = state.engine;
  const build = plan.builds.find((planned) => planned.buildRef === buildRef);
  const isUnloadable = outcome.kind === 'failed' && outcome.reason === 'engineInvalid';
  if (!isUnloadable || build === undefined || engineKey === null || buildId === null) return state;
  if (build.isFrozen || program.recordings !== null) return state;
  const [engine] = (await cache.isKept(buildId)) ? [] : await cache.builds((note) => note.buildId === buildId);
  const isGone = engine !== undefined && (await cache.unlink({ ...engine.note, ...engine })) === true;
  const next = isGone
    ? 'the next sweep builds it again'
    : 'its file stays, because it is pinned, in use or a last good one';
  onEvent({ kind: 'note', text: `the engine ${build.label} does not load; ${next}` });
  return { kind: 'failed', outcome };
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
  const variant = build.variantRef === null ? null : await variants.provide(build.variantRef);
  if (variant?.kind === 'failed') {
    const outcome = await storeFailedVariant(context, build, earlier.runId, variant);
    return { kind: 'failed', outcome };
  }
  const modelSha256 = variant?.record.sha256 ?? (await modelIdentity(context, build));
  const engineKey = await engineKeyOf(context, build, modelSha256);
  const { cache, now } = context;
  const name = engineName({ engineKey, number: build.number });
  await cache.use(name, now());
  return cache.hold(name, lockWait(context, build), async () => {
    const cached = await usableEngine(context, build, engineKey);
    if (cached !== null) {
      context.onEvent({ kind: 'buildReady', build, how: 'cached', buildS: null });
      if (build.isFrozen) await freeze(context, build, cached);
      return readyEngine(cached, variant?.record ?? null, [], variant?.path ?? null);
    }
    refuseOtherEngine(context, build, engineKey);
    // Check again: during the wait it may have been built, or its build may have failed.
    const { failed, runId } = earlierBuild(context, build);
    if (failed !== null) return { kind: 'failed', outcome: failed };
    const state = await buildEngine(context, build, { runId, engineKey, modelSha256, variant });
    const buildId = state.kind === 'ready' && build.isFrozen ? state.engine.buildId : null;
    const built = buildId === null ? null : await cache.findBuild(buildId);
    if (built !== null) await freeze(context, build, built);
    return state;
  });
}

/** The newest cached engine that this TensorRT may load. One whose bytes have changed is removed. */
async function usableEngine(
  { cache, library, onEvent }: SweepContext,
  build: PlannedBuild,
  engineKey: string,
): Promise<CachedEngine | null> {
  const loaded = library?.version ?? null;
  const known = await cache.builds((note) => note.engineKey === engineKey && note.number === build.number);
  const isLoadable = ({ note: { tensorrtLibrary } }: CachedEngine): boolean =>
    tensorrtLibrary === null || loaded === null || tensorrtLibrary === loaded;
  for (const engine of known.filter(isLoadable)) {
    if (await cache.isWhole(engine)) return engine;
    await cache.unlink({ ...engine.note, ...engine });
    const text = `the bytes of the engine ${build.label} changed after its build, so bench rebuilds it`;
    onEvent({ kind: 'note', text });
  }
  const other = known.find((engine) => !isLoadable(engine));
  if (other !== undefined) {
    const text = `the engine ${build.label} was built by the TensorRT library ${other.note.tensorrtLibrary}, but ${loaded} is loaded here: bench builds it again`;
    onEvent({ kind: 'note', text });
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
  const buildId = sha256.slice(0, 32);
  return {
    kind: 'ready',
    engine: { path, sha256, engineKey: null, buildId, variant: null, variantPath: null, notes: [] },
  };
}

/** Null if there is none. A frozen engine that is lost or no longer loads is never replaced silently. */
async function frozenEngine(context: SweepContext, build: PlannedBuild): Promise<EngineState | null> {
  const { cache, now, onEvent } = context;
  const { [definitionOf(context, build)]: frozen } = (await cache.index.read()).frozen;
  if (frozen === undefined) return null;
  await cache.use(frozen.name, now());
  const engine = await cache.hold(frozen.name, lockWait(context, build), () => cache.findBuild(frozen.buildId));
  const problem = engine === null ? 'has changed or was removed' : await frozenProblem(context, engine);
  if (engine === null || problem !== null) {
    const advice = `remove it with \`bench engines rm ${frozen.name.slice(0, 8)}\`, and the next run freezes a new engine`;
    const text = `its engine, frozen since ${frozen.since.slice(0, 10)}, ${problem}: ${advice}`;
    return refusedEngine(context, build, engine === null ? 'engineMissing' : 'engineInvalid', text);
  }
  onEvent({ kind: 'buildReady', build, how: 'frozen', buildS: null });
  const modelSha256 = build.variantRef === null ? await modelIdentity(context, build) : null;
  if (modelSha256 !== null && (await engineKeyOf(context, build, modelSha256)) !== engine.note.engineKey) {
    const text = `${build.label} runs its frozen engine of ${frozen.since.slice(0, 10)}: model, TensorRT or driver have changed since`;
    onEvent({ kind: 'note', text });
  }
  return readyEngine(engine, engine.note.variant, [`frozen engine, since ${frozen.since}`]);
}

async function frozenProblem(context: SweepContext, { note, path }: CachedEngine): Promise<string | null> {
  const loaded = context.library?.version ?? null;
  const isSameLibrary = loaded === null || note.tensorrtLibrary === null || loaded === note.tensorrtLibrary;
  return note.tensorrt === context.plan.tensorrt && isSameLibrary ? null : loadProblem(context, path);
}

/** From now on this engine represents its build definition. */
async function freeze(context: SweepContext, build: PlannedBuild, { name, note }: CachedEngine): Promise<void> {
  const { cache, now, onEvent } = context;
  const { buildId } = note;
  const since = now().toISOString();
  await cache.index.change((index) => {
    index.frozen[definitionOf(context, build)] = { name, buildId, since };
  });
  onEvent({ kind: 'note', text: `${build.label} is frozen to this engine from now on` });
}

/** Why an engine cannot be loaded; null if unknown. One short process replaces the failure of every run. */
async function loadProblem(
  { library, onEvent, plan, program, signal, spawn }: SweepContext,
  path: string,
): Promise<string | null> {
  const version = parseTensorrtVersion(plan.tensorrt);
  if (program.recordings !== null || version === null) return null;
  if (!isFlagIn('--getPlanVersionOnly', version)) return null;
  const built = await askPlanVersion(program, spawn, signal, path);
  if (built === null) return null;
  const running = library?.version ?? plan.tensorrt;
  const loading = loadingOf(built, running);
  if (loading === 'never') return `was built with TensorRT ${built}, which ${running} cannot load`;
  if (loading === 'maybe') {
    const text = `${path} was built with TensorRT ${built}: ${running} loads it only if it is version-compatible`;
    onEvent({ kind: 'note', text });
  }
  return null;
}
