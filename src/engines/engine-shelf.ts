import type { Outcome } from '../records/outcome.ts';
import type { PlannedBuild } from '../records/plan.ts';
import type { EngineState } from './engine-state.ts';
import { provideEngine } from './engines.ts';
import { intactEngine } from './intact-engine.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import { Variants } from '../variants/sweep-variants.ts';
import { engineAfterRun } from './unloadable-engine.ts';

/**
 * The engines of a sweep: each is provided once for each model of GPU, by whichever lane comes first, and all lanes with
 * such a GPU load it.
 */
export class EngineShelf {
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
  async fill(lane: SweepContext, buildRefs: readonly string[]): Promise<void> {
    for (const buildRef of buildRefs) {
      lane.signal.throwIfAborted();
      if (!this.states.has(nameOf(lane, buildRef))) await this.engine(lane, buildRef);
    }
  }

  /** When it is there, looked at once more; null for a reference that is in no plan. */
  async engine(lane: SweepContext, buildRef: string): Promise<EngineState | null> {
    const build = this.builds.get(buildRef);
    if (build === undefined) return null;
    const name = nameOf(lane, buildRef);
    const known = this.states.get(name);
    const providing =
      known === undefined
        ? this.provide(lane, build)
        : known.then((state) => intactEngine(lane, build, state, this.variants));
    // Whoever waits for it sees the error; it must not end the program before.
    providing.catch(() => {});
    this.states.set(name, providing);
    return providing;
  }

  /** A run of an engine says whether it can be loaded. */
  async afterRun(
    lane: SweepContext,
    buildRef: string,
    state: Extract<EngineState, { kind: 'ready' }>,
    outcome: Outcome,
  ): Promise<void> {
    const next = await engineAfterRun(lane, buildRef, state, outcome);
    if (next !== state) this.states.set(nameOf(lane, buildRef), Promise.resolve(next));
  }

  private async provide(lane: SweepContext, build: PlannedBuild): Promise<EngineState> {
    const state = await provideEngine(lane, build, this.variants);
    if (state.kind === 'failed') this.onFailure();
    return state;
  }
}

function nameOf({ otherModel }: SweepContext, buildRef: string): string {
  return `${buildRef} ${otherModel ?? ''}`;
}
