import type { PlannedBuild } from '../records/plan.ts';
import { type EngineState, refusedEngine } from './engine-state.ts';
import { provideEngine } from './engines.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import type { Variants } from '../variants/sweep-variants.ts';

/**
 * The engine of a run, looked at once more just before it is used. One whose bytes have changed since is built anew;
 * a given one is not used any more.
 */
export async function intactEngine(
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
