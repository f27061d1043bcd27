import { engineName } from './engine-note.ts';
import type { Outcome } from '../records/outcome.ts';
import type { EngineState } from './engine-state.ts';
import type { SweepContext } from '../run/sweep-context.ts';

/**
 * What becomes of an engine of the cache after a run of it. One that trtexec could not load, though its bytes are those
 * that were built, is moved aside: the next sweep builds it anew, and the other runs of this one, which would fail
 * alike, are left out. A given or a frozen engine stays where it is.
 */
export async function engineAfterRun(
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
