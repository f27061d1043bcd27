import { existsSync } from 'node:fs';

import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { formatMistake, type Mistake } from '../../errors.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import type { OnnxFacts } from '../../tools/onnx/facts.ts';
import { printable } from '../../text/printable.ts';
import { modelMistakes, modelNotes, onnxFilesOf } from '../../matrix/models/check-model.ts';
import { onnxProblem } from '../../selection/reading-problem.ts';

export interface CheckedModels {
  readonly mistakes: readonly Mistake[];
  readonly lacking: readonly Mistake[];
  readonly notes: readonly string[];
}

export const NOTHING_CHECKED: CheckedModels = { mistakes: [], lacking: [], notes: [] };

/** Checks the matrix against its models. An ONNX file that bench cannot read is only a remark: trtexec decides. */
export async function checkModels(cells: readonly MatrixCell[]): Promise<CheckedModels> {
  const models = new Map<string, OnnxFacts>();
  const lacking: Mistake[] = [];
  const notes: string[] = [];
  for (const { value: path, at } of onnxFilesOf(cells)) {
    if (!existsSync(path)) continue;
    try {
      const facts = await readOnnxFacts(path);
      models.set(path, facts);
      for (const { location, problem } of facts.externalFiles) {
        if (problem === null) continue;
        lacking.push({ at, problem: `${printable(path)}: weights in ${printable(location)}: ${problem}` });
      }
    } catch (error) {
      const problem = `${printable(path)}: ${onnxProblem(error)}; its inputs are not checked`;
      notes.push(formatMistake({ at, problem }));
    }
  }
  return { mistakes: modelMistakes(cells, models), lacking, notes: [...notes, ...modelNotes(cells, models)] };
}
