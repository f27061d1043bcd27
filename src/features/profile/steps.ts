import type { CachedEngine } from '../../engines/engine-cache.ts';
import type { ProfileOptions } from './command.ts';
import type { CaptureStep } from './output.ts';
import {
  CAPTURED_DLA_QUERIES,
  CAPTURED_QUERIES,
  captureArgs,
  type CaptureWish,
  exportArgs,
  shownBuildArgs,
} from '../../tools/nsys/nsys-args.ts';
import type { NsysDialect } from '../../tools/nsys/nsys-dialect.ts';
import type { CaptureTarget } from './target.ts';

/** @param hasGraph whether a graph is really launched, which is not the same as asked for */
export function captureWish({ cell }: CaptureTarget, hasGraph: boolean, options: ProfileOptions): CaptureWish {
  const dla = options.dla === true;
  return {
    output: options.output ?? `${fileName(cell.model)}_profile`,
    replaces: options.force === true,
    hasGraph,
    gpuMetrics: options.gpuMetrics === true,
    dla,
    iterations: options.iterations ?? (dla ? CAPTURED_DLA_QUERIES : CAPTURED_QUERIES),
  };
}

/** A model's name as the name of a file that no shell has to be told of. */
export function fileName(name: string): string {
  return name.replace(/[^\w.-]/g, '_').replace(/^[.-]+/, '_') || 'model';
}

/** What will be done, in its order. The engine that is there is not built. */
export function captureSteps(
  { build, cell, run }: CaptureTarget,
  wish: CaptureWish,
  dialect: NsysDialect,
  trtexec: string,
  cached: CachedEngine | null,
): CaptureStep[] {
  const stand = `${fileName(cell.model)}.plan`;
  const engine = build.enginePath ?? cached?.path ?? stand;
  const isBuilt = build.enginePath !== null || cached !== null;
  const variables = {};
  return [
    ...(isBuilt ? [] : [{ kind: 'build' as const, variables, argv: [trtexec, ...shownBuildArgs(build.args, stand)] }]),
    { kind: 'capture', variables: run.env, argv: ['nsys', ...captureArgs(wish, dialect, [trtexec], run.args, engine)] },
    { kind: 'export', variables, argv: ['nsys', ...exportArgs(wish.output)] },
  ];
}
