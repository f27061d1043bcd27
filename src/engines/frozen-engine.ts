import { definitionOf, engineKeyOf, modelIdentity } from './engine-identity.ts';
import type { CachedEngine } from './engine-cache.ts';
import type { PlannedBuild } from '../records/plan.ts';
import { lockWait } from './engine-wait.ts';
import { type EngineState, readyEngine, refusedEngine } from './engine-state.ts';
import { loadProblem } from './given-engine.ts';
import type { SweepContext } from '../run/sweep-context.ts';

/**
 * The engine that a build is frozen to; null when none is yet. A frozen engine that is lost or does not load any more
 * is never replaced unasked: what it was there for would be gone without a word.
 */
export async function frozenEngine(context: SweepContext, build: PlannedBuild): Promise<EngineState | null> {
  const { cache, now, onEvent } = context;
  const frozen = cache.frozen.find(definitionOf(context, build));
  if (frozen === null) return null;
  await cache.use(frozen.name, now());
  const found = await cache.hold(frozen.name, lockWait(context, build), () => cache.find(frozen.name));
  const advice = `let go of it with \`bench engines rm ${frozen.name.slice(0, 8)}\`, and the next run freezes a new one`;
  const isOther = found.kind === 'ready' && found.engine.note.buildId !== frozen.buildId;
  if (found.kind === 'absent' || isOther) {
    const text = `the engine that it is frozen to since ${dayOf(frozen.since)} is gone: ${advice}`;
    return refusedEngine(context, build, 'engineMissing', text);
  }
  if (found.kind === 'changed') {
    const text = `the bytes of the engine that it is frozen to have changed: ${advice}`;
    return refusedEngine(context, build, 'engineInvalid', text);
  }
  const { engine } = found;
  const problem = isSameTensorrt(context, engine) ? null : await loadProblem(context, engine.path);
  if (problem !== null) {
    return refusedEngine(context, build, 'engineInvalid', `its frozen engine was ${problem}: ${advice}`);
  }
  const { bytes, builtAt } = engine.note;
  onEvent({ kind: 'buildReady', build, how: 'frozen', buildS: null, engineBytes: bytes });
  if (await wouldBeOther(context, build, engine)) {
    const text = `${build.label} runs its frozen engine of ${dayOf(builtAt ?? frozen.since)}: model, TensorRT or driver are others by now`;
    onEvent({ kind: 'note', text });
  }
  return readyEngine(engine, engine.note.variant, [`frozen engine, since ${frozen.since}`]);
}

/** From now on this engine stands for the build. */
export async function freeze(context: SweepContext, build: PlannedBuild, { name, note }: CachedEngine): Promise<void> {
  const { cache, now, onEvent } = context;
  const { buildId, sha256 } = note;
  const since = now().toISOString();
  await cache.frozen.freeze(definitionOf(context, build), { name, buildId, sha256, since });
  onEvent({ kind: 'note', text: `${build.label} is frozen to this engine from now on` });
}

function isSameTensorrt({ library, plan }: SweepContext, { note }: CachedEngine): boolean {
  const loaded = library?.version ?? null;
  const isSameLibrary = loaded === null || note.tensorrtLibrary === null || loaded === note.tensorrtLibrary;
  return note.tensorrt === plan.tensorrt && isSameLibrary;
}

/** A variant would have to be made first to say so. */
async function wouldBeOther(context: SweepContext, build: PlannedBuild, { note }: CachedEngine): Promise<boolean> {
  if (build.variantRef !== null) return false;
  const key = await engineKeyOf(context, build, await modelIdentity(context, build));
  return key !== note.engineKey;
}

function dayOf(instant: string): string {
  return instant.slice(0, 10);
}
