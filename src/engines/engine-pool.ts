import { type EngineState, refusedEngine } from './engine-state.ts';
import { engineName } from './engine-note.ts';
import { provideEngine } from './provide-engine.ts';
import type { Outcome } from '../records/outcome.ts';
import type { PlannedBuild } from '../records/plan.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import { Variants } from '../variants/sweep-variants.ts';

/**
 * The engines of a sweep: each is provided once for each model of GPU, by whichever worker comes first, and all workers
 * with such a GPU load it.
 */
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

  /** Provides what nobody has begun yet of some builds, one after the other. */
  async fill(context: SweepContext, buildRefs: readonly string[]): Promise<void> {
    for (const buildRef of buildRefs) {
      context.signal.throwIfAborted();
      if (!this.states.has(nameOf(context, buildRef))) await this.engine(context, buildRef);
    }
  }

  /** When it is there, looked at once more; null for a reference that is in no plan. */
  async engine(context: SweepContext, buildRef: string): Promise<EngineState | null> {
    const build = this.builds.get(buildRef);
    if (build === undefined) return null;
    const name = nameOf(context, buildRef);
    const known = this.states.get(name);
    const providing =
      known === undefined
        ? this.provide(context, build)
        : known.then((state) => intactEngine(context, build, state, this.variants));
    // Whoever waits for it sees the error; it must not end the program before.
    providing.catch(() => {});
    this.states.set(name, providing);
    return providing;
  }

  /** A run of an engine says whether it can be loaded. */
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

/**
 * The engine of a run, looked at once more just before it is used. One whose bytes have changed since is built anew;
 * a given one is not used any more.
 */
async function intactEngine(
  context: SweepContext,
  build: PlannedBuild,
  state: EngineState,
  variants: Variants,
): Promise<EngineState> {
  if (state.kind !== 'ready') return state;
  const { engine } = state;
  if ((await context.cache.sha256Of(engine.path)) === engine.sha256) return state;
  if (build.enginePath === null) return provideEngine(context, build, variants);
  const text = `${engine.path} has changed since the sweep began: its other runs are left out`;
  return refusedEngine(context, build, 'engineInvalid', text);
}

/**
 * What becomes of an engine of the cache after a run of it. One that trtexec could not load, though its bytes are those
 * that were built, is moved aside: the next sweep builds it anew, and the other runs of this one, which would fail
 * alike, are left out. A given or a frozen engine stays where it is.
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
  const name = engineName(engineKey, build.number);
  const aside = await cache.tryHold(name, async () => {
    const found = await cache.find(name);
    return found.kind === 'ready' && found.engine.note.buildId === buildId ? cache.setAside(name) : null;
  });
  const where = aside === null ? '' : `; it is now ${aside}, and the next sweep builds it anew`;
  onEvent({ kind: 'note', text: `the engine ${build.label} does not load${where}` });
  return { kind: 'failed', outcome };
}
