import { type EngineState, refusedEngine } from './engine-state.ts';
import { provideEngine } from './engines.ts';
import type { SweepContext } from './sweep-context.ts';
import { Variants } from './sweep-variants.ts';

/**
 * The engine of a run, looked at once more just before it is used. One whose bytes have changed since is built anew;
 * a given one is not used any more.
 */
export async function intactEngine(
  context: SweepContext,
  engines: Map<string, EngineState>,
  buildRef: string,
): Promise<EngineState | undefined> {
  const state = engines.get(buildRef);
  const build = context.plan.builds.find((planned) => planned.buildRef === buildRef);
  if (build === undefined || state?.kind !== 'ready') return state;
  const { engine } = state;
  if ((await context.cache.sha256Of(engine.path)) === engine.sha256) return state;
  const again =
    build.enginePath === null
      ? await provideEngine(context, build, new Variants(context))
      : refusedEngine(
          context,
          build,
          'engineInvalid',
          `${engine.path} has changed since the sweep began: its other runs are left out`,
        );
  engines.set(buildRef, again);
  return again;
}
