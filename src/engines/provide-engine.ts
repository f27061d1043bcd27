import type { CachedEngine } from './engine-cache.ts';
import { engineName } from './engine-note.ts';
import { UsageError } from '../errors.ts';
import type { PlannedBuild } from '../records/plan.ts';
import { printable } from '../text/printable.ts';
import { engineKeysOf } from '../store/runs/runs.ts';
import { buildEngine } from './build-engine.ts';
import { engineKeyOf, modelIdentity } from './engine-identity.ts';
import { type EngineState, lockWait, readyEngine } from './engine-state.ts';
import { storeFailedVariant } from '../variants/failed-variant.ts';
import { earlierBuild } from './build-runs.ts';
import { freeze, frozenEngine, givenEngine } from './fixed-engine.ts';
import type { SweepContext } from '../run/sweep-context.ts';
import type { Variants } from '../variants/sweep-variants.ts';

/** Finds or builds the engine of a planned build. A failed build is a result: its cells have no runs, others go on. */
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
  // What failed is not tried again by the same sweep, neither the conversion nor the build.
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
  const name = engineName(engineKey, build.number);
  await cache.use(name, now());
  return cache.hold(name, lockWait(context, build), async (isReadOnly) => {
    const cached = await usableEngine(context, build, name, isReadOnly);
    if (cached !== null) {
      const { bytes } = cached.note;
      context.onEvent({ kind: 'buildReady', build, how: 'cached', buildS: null, engineBytes: bytes });
      if (build.isFrozen) await freeze(context, build, cached);
      return readyEngine(cached, variant?.record ?? null, [], variant?.path ?? null);
    }
    refuseOtherEngine(context, build, engineKey);
    // Once more: somebody may have built it, and failed, while this one waited.
    const { failed, runId } = earlierBuild(context, build);
    if (failed !== null) return { kind: 'failed', outcome: failed };
    if (isReadOnly) throw readOnlyProblem(cache.folder, build);
    const state = await buildEngine(context, build, { runId, engineKey, modelSha256, variant });
    const built = state.kind === 'ready' && build.isFrozen ? await cache.find(name) : null;
    if (built?.kind === 'ready') await freeze(context, build, built.engine);
    return state;
  });
}

function readOnlyProblem(folder: string, build: PlannedBuild): UsageError {
  return new UsageError(
    `${printable(folder)} cannot be written, and has no engine for ${printable(build.label)}: make it writable, or use another --db`,
  );
}

/** What is in the cache and may be loaded; what may not is moved out of the way, with a word about it. */
async function usableEngine(
  { cache, library, onEvent }: SweepContext,
  build: PlannedBuild,
  name: string,
  isReadOnly: boolean,
): Promise<CachedEngine | null> {
  const found = await cache.find(name);
  if (found.kind === 'absent') return null;
  if (found.kind === 'changed') {
    const aside = isReadOnly ? null : await cache.setAside(name);
    const where = aside === null ? '' : `; it is now ${aside}`;
    const text = `the bytes of the engine ${build.label} are not those that were built, so it is built anew${where}`;
    onEvent({ kind: 'note', text });
    return null;
  }
  const { tensorrtLibrary } = found.engine.note;
  const loaded = library?.version ?? null;
  if (tensorrtLibrary !== null && loaded !== null && tensorrtLibrary !== loaded) {
    if (!isReadOnly) await cache.setAside(name);
    const text = `the engine ${build.label} was built by the TensorRT library ${tensorrtLibrary}, and ${loaded} is loaded here: it is built anew`;
    onEvent({ kind: 'note', text });
    return null;
  }
  return found.engine;
}

/** A resumed sweep must not mix runs of two engines: what the model was when it began is what it measures. */
function refuseOtherEngine(
  { db, mayChangeEngines, plan, sweep }: SweepContext,
  build: PlannedBuild,
  engineKey: string,
): void {
  if (mayChangeEngines) return;
  const keys = plan.runs.filter(({ buildRef }) => buildRef === build.buildRef).map(({ cellKey }) => cellKey);
  const before = engineKeysOf(db, sweep.sweepId, keys).find((key) => key !== engineKey);
  if (before === undefined) return;
  throw new UsageError(
    `${printable(build.label)}: its model, a file of its build or the machine is another than when sweep ${sweep.sweepId.slice(0, 8)} began: start a new sweep, or add --anyway`,
  );
}
