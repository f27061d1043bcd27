import { buildEngine, engineKeyOf, modelIdentity } from './build-engine.ts';
import type { CachedEngine } from './engine-cache.ts';
import { engineName } from './engine-index.ts';
import { earlierBuild, type EngineState, lockWait, readyEngine, refusedEngine } from './engine-state.ts';
import { freeze, frozenEngine, givenEngine } from './fixed-engine.ts';
import { UsageError } from '../errors.ts';
import type { Outcome } from '../records/outcome.ts';
import type { PlannedBuild } from '../records/plan.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import { COMPARE_BRANCH } from '../records/sweep.ts';
import { engineKeysOf } from '../store/runs/runs.ts';
import { printable } from '../text/printable.ts';
import { storeFailedVariant, Variants } from '../variants/sweep-variants.ts';

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
 * State of a cached engine after a run. If trtexec could not load it although its content is unchanged, bench removes
 * it. The next sweep then builds it again, and the other runs of this sweep are skipped, because they would fail
 * equally. A given or frozen engine stays.
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
  if (!isUnloadable || build === undefined || engineKey === null) return state;
  if (build.isFrozen || program.recordings !== null) return state;
  for (const engine of await cache.builds((note) => note.buildId === buildId))
    await cache.unlink({ ...engine.note, ...engine });
  onEvent({ kind: 'note', text: `the engine ${build.label} does not load; the next sweep builds it again` });
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
      const { bytes } = cached.note;
      context.onEvent({ kind: 'buildReady', build, how: 'cached', buildS: null, engineBytes: bytes });
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
