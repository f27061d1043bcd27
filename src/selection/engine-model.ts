import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';

import { hashModel } from '../artefacts/hashes.ts';
import { UsageError } from '../errors.ts';
import type { ShapedModel } from '../layers/work/efficiency.ts';
import type { RunId } from '../records/scalars.ts';
import { buildRunOf } from '../store/builds/builds.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { findBuilds } from '../store/sweeps/environments.ts';
import { showRun } from '../store/runs/show-run.ts';
import { readOnnxNetwork } from '../tools/onnx/onnx-file.ts';
import { printable } from '../text/printable.ts';
import { onnxProblem } from './reading-problem.ts';

export type EngineModel = Pick<ShapedModel, 'name' | 'network'>;

export const NO_MODEL = 'the ONNX model is not known here';

/** @throws UsageError for a file that is no ONNX model */
export function namedModel(path: string, cwd: string): EngineModel {
  try {
    return { name: basename(path), network: readOnnxNetwork(resolve(cwd, path)) };
  } catch (error) {
    throw new UsageError(`--onnx ${printable(path)}: ${onnxProblem(error)}`, { cause: error });
  }
}

/** Models by path, so that one of many cells is read once. */
export type ReadModels = Map<string, EngineModel>;

/**
 * The ONNX file that bench built the engine of a run from, as long as it is the same one.
 * @returns or why it is not known, in words
 */
export async function modelOfRun(db: StoreDatabase, runId: RunId, read: ReadModels): Promise<EngineModel | string> {
  const built = showRun(db, buildRunOf(db, runId)?.runId ?? runId);
  const option = '--onnx=';
  const path = built?.argv?.find((argument) => argument.startsWith(option))?.slice(option.length);
  const buildId = built?.buildId ?? null;
  const sha256 = buildId === null ? null : (findBuilds(db, [buildId]).get(buildId)?.modelSha256 ?? null);
  // Paths of recordings and of other machines lead nowhere, or to another file.
  if (built === null || path === undefined || sha256 === null) return NO_MODEL;
  const status = await stat(path).catch(() => null);
  if (status === null) return `the ONNX model is not here any more: ${printable(path)}`;
  const builtAt = Date.parse(built.startedAt ?? '');
  if (!(status.mtimeMs <= builtAt) && (await hashModel(path).catch(() => null)) !== sha256) {
    return `the ONNX model changed since the engine was built: ${printable(path)}`;
  }
  try {
    const model = read.get(path) ?? { name: basename(path), network: readOnnxNetwork(path) };
    read.set(path, model);
    return model;
  } catch (error) {
    return `${printable(path)}: ${onnxProblem(error)}`;
  }
}
