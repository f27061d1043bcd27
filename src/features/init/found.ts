import { resolve, relative, sep } from 'node:path';

import { readPythonVersions } from '../../tools/modelopt/names.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import { Dialect } from '../../trtexec/arguments/dialect.ts';
import { pythonFacts } from '../../machine/machine-tools.ts';
import { trtexecFacts } from '../../trtexec/program/trtexec-facts.ts';
import { gpusFacts } from '../doctor/index.ts';
import type { Io } from '../../cli/io.ts';
import { statSync } from 'node:fs';
import { findOnnxFiles } from '../../tools/onnx/find-onnx.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { UsageError } from '../../errors.ts';
import type { FoundModel, SkippedFile } from './draft.ts';
import { printable } from '../../text/printable.ts';
import { onnxProblem, readingProblem } from '../../selection/reading-problem.ts';

const PATIENCE = { toolMs: 10_000, trtexecMs: 30_000 };

/** Facts of this machine that decide what a matrix may request. */
export async function lookAround(stated: string | undefined, io: Io) {
  const { cwd, env, signal } = io;
  const [{ trtexec }, gpus, python] = await Promise.all([
    trtexecFacts({ flag: stated, matrix: null, env, cwd, signal, timeoutMs: PATIENCE.trtexecMs }),
    gpusFacts(env, PATIENCE.toolMs),
    pythonFacts(env, PATIENCE.toolMs),
  ]);
  const help = trtexec.kind === 'found' ? trtexec.help : null;
  const version = help?.kind === 'version' ? help.version : null;
  const refusal = version === null ? null : new Dialect(version).refusal;
  const names = gpus.kind === 'report' ? gpus.gpus.map(({ name }) => name ?? 'a GPU') : [];
  const answer = python.answer.kind === 'answered' ? readPythonVersions(python.answer.text) : null;
  const modelopt = answer?.packages.find(([name]) => name === 'nvidia-modelopt')?.[1] ?? null;
  const lacking = [
    ...(trtexec.kind === 'missing' ? [trtexec.problem] : []),
    ...(help?.kind === 'failed' ? [help.problem] : []),
    ...(refusal === null ? [] : [refusal]),
    ...(names.length === 0 ? ['a GPU: nvidia-smi shows none'] : []),
  ];
  return {
    possibilities: { version, hasModelopt: modelopt !== null },
    trtexec:
      trtexec.kind === 'missing' ? null : { path: trtexec.path, version: version && formatTensorrtVersion(version) },
    // Absolute, when named by a flag: it would not be found by itself.
    statedTrtexec: stated === undefined || trtexec.kind === 'missing' ? null : resolve(cwd, stated),
    gpus: names,
    found: [
      version === null
        ? `trtexec: ${help === null ? 'none was found' : 'it did not say its version'}, so only what every version can do is asked for`
        : `trtexec ${formatTensorrtVersion(version)}`,
      names.length === 0 ? 'GPU: none was seen' : `GPU: ${names.join(', ')}`,
      ...(names.length > 1 ? ['Several GPUs at the same time: bench run --gpus all'] : []),
      modelopt === null
        ? 'ModelOpt: none, so no FP8, INT8 or INT4 is made here'
        : `ModelOpt ${modelopt}: makes FP16, FP8, INT8 and INT4 from a base model`,
    ],
    lacking,
  };
}

/** More models than this in a folder are a collection, not a matrix. */
const MAX_FOUND = 24;

/**
 * Reads the ONNX files of the places given.
 * @param matrixFolder paths are written relative to it
 * @throws UsageError when there is none
 */
export async function findModels(places: readonly string[], matrixFolder: string, io: Io) {
  const folders = places.length === 0 ? ['.'] : places;
  const searched = folders.map((place) => searchedIn(place, io));
  const files = [...new Set(searched.flatMap((each) => each.files))];
  const named = files.filter((file) => searched.some((each) => each.isFile && each.files[0] === file));
  const chosen = files.filter((file, place) => place < MAX_FOUND || named.includes(file));
  const where = folders.map((place) => printable(place)).join(', ');
  if (files.length === 0) {
    throw new UsageError(
      `no ONNX file in ${where === '.' ? 'this folder or below it' : where}: name one, bench init MODEL.onnx`,
    );
  }
  const models: FoundModel[] = [];
  const skipped: SkippedFile[] = [];
  for (const file of chosen) {
    const path = statedPath(matrixFolder, file);
    try {
      models.push({ path, facts: await readOnnxFacts(file) });
    } catch (error) {
      skipped.push({ path, problem: onnxProblem(error) });
    }
    io.signal.throwIfAborted();
  }
  const left = files.length - chosen.length;
  const notes = [
    ...(left > 0 ? [`${left} more ONNX files are left out: name those that matter`] : []),
    ...(searched.some(({ isCutOff }) => isCutOff)
      ? ['the search ended before it saw every folder: name the models, or their folder']
      : []),
  ];
  return { models, skipped, note: notes.length === 0 ? null : notes.join('; ') };
}

function searchedIn(place: string, io: Io) {
  const path = resolve(io.cwd, place);
  try {
    if (!statSync(path).isDirectory()) return { files: [path], isCutOff: false, isFile: true };
  } catch (error) {
    throw new UsageError(`${printable(place)}: ${readingProblem(error)}`, { cause: error });
  }
  return { ...findOnnxFiles(path), isFile: false };
}

/** Relative to the matrix, so that both can move together. */
function statedPath(folder: string, file: string): string {
  return relative(folder, file).split(sep).join('/');
}
