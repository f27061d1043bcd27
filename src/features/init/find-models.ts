import { statSync } from 'node:fs';
import { relative, resolve, sep } from 'node:path';

import { findOnnxFiles } from '../../tools/onnx/find-onnx.ts';
import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { UsageError } from '../../errors.ts';
import type { FoundModel, SkippedFile } from './matrix-draft.ts';
import { printable } from '../../text/printable.ts';
import type { Io } from '../../cli/io.ts';
import { onnxProblem, readingProblem } from '../../selection/reading-problem.ts';

export interface FoundModels {
  readonly models: readonly FoundModel[];
  readonly skipped: readonly SkippedFile[];
  /** What was not looked at; null when everything was. */
  readonly note: string | null;
}

/** More models than this, which nobody named, are a collection and not a matrix. */
const MAX_FOUND = 24;

/**
 * Reads the ONNX files that were named, or those of the folders that were named.
 * @param matrixFolder the folder of the matrix: paths are stated from there
 * @throws UsageError when there is none
 */
export async function findModels(places: readonly string[], matrixFolder: string, io: Io): Promise<FoundModels> {
  const asked = places.length === 0 ? ['.'] : places;
  const searched = asked.map((place) => searchedIn(place, io));
  const files = [...new Set(searched.flatMap((each) => each.files))];
  const named = files.filter((file) => searched.some((each) => each.isFile && each.files[0] === file));
  const chosen = files.filter((file, place) => place < MAX_FOUND || named.includes(file));
  const where = asked.map((place) => printable(place)).join(', ');
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

/** From the folder of the matrix, so that both can move together. */
function statedPath(folder: string, file: string): string {
  return relative(folder, file).split(sep).join('/');
}
