import { isFlagIn } from '../trtexec/flags/flag-table.ts';
import { askPlanVersion, loadingOf } from '../trtexec/program/find-trtexec.ts';
import type { PlannedBuild } from '../records/plan.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { parseTensorrtVersion } from '../text/version.ts';
import { type CachedEngine, fileBytes } from './engine-cache.ts';
import { definitionOf, engineKeyOf, modelIdentity } from './build-engine.ts';
import { type EngineState, lockWait, readyEngine, refusedEngine } from './engine-state.ts';
import type { SweepContext } from '../run/sweep-context.ts';

// Engines that are never built for a sweep: given files, and frozen engines.

/** An engine file named in the matrix: used unchanged, if this TensorRT can load it. */
export async function givenEngine(context: SweepContext, build: PlannedBuild, path: string): Promise<EngineState> {
  const { cache, onEvent } = context;
  const sha256 = await cache.hashes.sha256Of(path);
  const engineBytes = await fileBytes(path);
  if (sha256 === null || engineBytes === null) {
    throw new UsageError(`${printable(path)}: engine not found or not readable`);
  }
  const problem = await loadProblem(context, path);
  if (problem !== null) {
    return refusedEngine(context, build, 'engineInvalid', `${path} ${problem}: build it again`);
  }
  onEvent({ kind: 'buildReady', build, how: 'given', buildS: null, engineBytes });
  const buildId = sha256.slice(0, 32);
  return {
    kind: 'ready',
    engine: { path, sha256, engineKey: null, buildId, variant: null, variantPath: null, notes: [] },
  };
}

/** Null if there is none. A frozen engine that is lost or no longer loads is never replaced silently. */
export async function frozenEngine(context: SweepContext, build: PlannedBuild): Promise<EngineState | null> {
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
  onEvent({ kind: 'buildReady', build, how: 'frozen', buildS: null, engineBytes: engine.note.bytes });
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
export async function freeze(context: SweepContext, build: PlannedBuild, { name, note }: CachedEngine): Promise<void> {
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
