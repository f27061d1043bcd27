import { isFlagIn } from '../trtexec/flags/flag-table.ts';
import { loadingOf } from '../trtexec/engine-version.ts';
import type { PlannedBuild } from '../records/plan.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { parseTensorrtVersion } from '../text/version.ts';
import { fileBytes } from './engine-cache.ts';
import { askPlanVersion } from '../trtexec/program/plan-version.ts';
import { type EngineState, refusedEngine } from './engine-state.ts';
import type { SweepContext } from '../run/sweep-context.ts';

/** An engine that the matrix names: taken as it is, if this TensorRT can load it at all. */
export async function givenEngine(context: SweepContext, build: PlannedBuild, path: string): Promise<EngineState> {
  const { cache, onEvent } = context;
  const sha256 = await cache.sha256Of(path);
  const engineBytes = await fileBytes(path);
  if (sha256 === null || engineBytes === null) {
    throw new UsageError(`${printable(path)}: no such engine, or it cannot be read`);
  }
  const problem = await loadProblem(context, path);
  if (problem !== null) {
    return refusedEngine(context, build, 'engineInvalid', `${path}: ${problem}: build it anew`);
  }
  onEvent({ kind: 'buildReady', build, how: 'given', buildS: null, engineBytes });
  const buildId = sha256.slice(0, 32);
  return {
    kind: 'ready',
    engine: { path, sha256, engineKey: null, buildId, variant: null, variantPath: null, notes: [] },
  };
}

/**
 * Why an engine cannot be loaded, by the version that built it; null when nothing says so. Costs one short process,
 * where a run that fails to load costs as many as there are runs.
 */
export async function loadProblem(
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
  if (loading === 'never') return `built with TensorRT ${built}, which ${running} cannot load`;
  if (loading === 'maybe') {
    const text = `${path} was built with TensorRT ${built}: ${running} loads it only if it is version-compatible`;
    onEvent({ kind: 'note', text });
  }
  return null;
}
