import { type Dirent, readdirSync, statSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';

import { readPythonVersions } from '../../tools/modelopt/failure-rules.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import { Dialect } from '../../trtexec/arguments/dialect.ts';
import { pythonFacts } from '../../machine/machine-facts.ts';
import { trtexecFacts } from '../../trtexec/program/trtexec-facts.ts';
import { gpusFacts } from '../doctor/index.ts';
import type { Io } from '../../cli/io.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { UsageError } from '../../errors.ts';
import type { FoundModel, SkippedFile } from './draft.ts';
import { printable } from '../../text/printable.ts';
import { onnxProblem, readingProblem } from '../../selection/find-runs.ts';

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
  const lacking = [
    ...(trtexec.kind === 'missing' ? [trtexec.problem] : []),
    ...(help?.kind === 'failed' ? [help.problem] : []),
    ...(refusal === null ? [] : [refusal]),
    ...(names.length === 0 ? ['a GPU: nvidia-smi shows none'] : []),
  ];
  return {
    possibilities: { version, hasModelopt: answer?.packages.some(([name]) => name === 'nvidia-modelopt') === true },
    trtexec:
      trtexec.kind === 'missing' ? null : { path: trtexec.path, version: version && formatTensorrtVersion(version) },
    // Absolute if stated by an option, because a search would not find it.
    statedTrtexec: stated === undefined || trtexec.kind === 'missing' ? null : resolve(cwd, stated),
    gpus: names,
    lacking,
  };
}

/**
 * Reads the ONNX files of the given places.
 * @param matrixFolder paths are relative to it, so that both can move together
 * @throws UsageError when there is none
 */
export async function findModels(places: readonly string[], matrixFolder: string, io: Io) {
  const files = (places.length === 0 ? ['.'] : places).flatMap((place) => {
    const path = resolve(io.cwd, place);
    try {
      return statSync(path).isDirectory() ? onnxFilesIn(path) : [path];
    } catch (error) {
      throw new UsageError(`${printable(place)}: ${readingProblem(error)}`, { cause: error });
    }
  });
  if (files.length === 0) {
    const where = places.length === 0 ? 'this folder or below it' : places.map((place) => printable(place)).join(', ');
    throw new UsageError(`no ONNX file in ${where}: name one, bench init MODEL.onnx`);
  }
  const models: FoundModel[] = [];
  const skipped: SkippedFile[] = [];
  for (const file of new Set(files)) {
    const path = relative(matrixFolder, file).split(sep).join('/');
    try {
      models.push({ path, facts: await readOnnxFacts(file) });
    } catch (error) {
      skipped.push({ path, problem: onnxProblem(error) });
    }
    io.signal.throwIfAborted();
  }
  return { models, skipped };
}

/** Folders of other programs and folders of bench's own output. */
const NOT_LOOKED_INTO = new Set(['node_modules', 'site-packages', 'variants', 'artefacts', '__pycache__']);
const MAX_DEPTH = 6;

/** ONNX files in a folder, then in its subfolders. Skips links to folders and unreadable folders. */
function onnxFilesIn(folder: string, depth = 1): string[] {
  const sorted = entriesOf(folder).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const files = sorted.filter((entry) => !entry.isDirectory() && /\.onnx$/i.test(entry.name));
  const folders = sorted.filter(
    (entry) => entry.isDirectory() && !entry.name.startsWith('.') && !NOT_LOOKED_INTO.has(entry.name),
  );
  const below = depth === MAX_DEPTH ? [] : folders.flatMap(({ name }) => onnxFilesIn(join(folder, name), depth + 1));
  return [...files.map(({ name }) => join(folder, name)), ...below];
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
