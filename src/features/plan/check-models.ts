import { existsSync } from 'node:fs';

import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { formatMistake, type Mistake } from '../../errors.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import type { OnnxFacts } from '../../tools/onnx/facts.ts';
import { printable } from '../../text/printable.ts';
import { readReport } from '../../tools/nvidia-smi/nvidia-smi.ts';
import { modelMistakes, modelNotes, onnxFilesOf } from '../../matrix/models/check-model.ts';
import { firstVisibleGpu, lacksFp8 } from '../../tools/nvidia-smi/gpu-report.ts';
import type { Io } from '../../cli/io.ts';
import { onnxProblem } from '../../selection/find-runs.ts';

export interface CheckedModels {
  readonly mistakes: readonly Mistake[];
  readonly lacking: readonly Mistake[];
  readonly notes: readonly string[];
}

export const NOTHING_CHECKED: CheckedModels = { mistakes: [], lacking: [], notes: [] };

/** FP8 that the GPU here lacks according to nvidia-smi. This is a note, because another GPU may be meant. */
async function fp8Notes(cells: readonly MatrixCell[], io: Io): Promise<string[]> {
  const fp8 = cells.find(({ cell }) => cell.precision === 'fp8');
  const report = fp8 === undefined ? '' : await readReport(io.env);
  const gpu = typeof report === 'string' ? null : firstVisibleGpu(report.gpus, io.env);
  if (fp8 === undefined || gpu === null || !lacksFp8(gpu)) return [];
  const problem = `FP8 needs a GPU of SM 8.9 (Ada) or newer, and ${printable(gpu.name ?? 'GPU')} is older`;
  return [formatMistake({ at: fp8.precisionAt, problem })];
}

/**
 * Checks the matrix against its models. An ONNX file that bench cannot read only gives a remark, because trtexec
 * decides.
 */
export async function checkModels(cells: readonly MatrixCell[], io: Io): Promise<CheckedModels> {
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
  notes.push(...modelNotes(cells, models), ...(await fp8Notes(cells, io)));
  return { mistakes: modelMistakes(cells, models), lacking, notes };
}
