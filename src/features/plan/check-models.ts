import { existsSync } from 'node:fs';

import { readOnnxFacts } from '../../tools/onnx/onnx-file.ts';
import { formatMistake, type Mistake } from '../../errors.ts';
import type { MatrixCell } from '../../matrix/matrix.ts';
import type { OnnxFacts } from '../../tools/onnx/facts.ts';
import { printable } from '../../text/printable.ts';
import { readReport } from '../../tools/nvidia-smi/nvidia-smi.ts';
import { inputBytes, modelMistakes, modelNotes, onnxFilesOf } from '../../matrix/models/check-model.ts';
import { formatBytes } from '../../terminal/numbers.ts';
import { cellLabel } from '../../records/cell-label.ts';
import { firstVisibleGpu, lacksFp8 } from '../../tools/nvidia-smi/gpu-report.ts';
import type { Io } from '../../cli/io.ts';
import { onnxProblem } from '../../selection/find-runs.ts';

export interface CheckedModels {
  readonly mistakes: readonly Mistake[];
  readonly lacking: readonly Mistake[];
  readonly notes: readonly string[];
}

export const NOTHING_CHECKED: CheckedModels = { mistakes: [], lacking: [], notes: [] };

/** Every GPU holds this much, so that smaller inputs need no check. */
const SMALL_BYTES = 1 << 30;

/** Requests that exceed the GPU here according to nvidia-smi. These are notes, because another GPU may be meant. */
async function gpuNotes(cells: readonly MatrixCell[], models: ReadonlyMap<string, OnnxFacts>, io: Io) {
  const sized = cells.map((entry) => ({ entry, bytes: inputBytes(entry, models) }));
  const large = sized.filter(({ bytes }) => bytes > SMALL_BYTES).toSorted((a, b) => b.bytes - a.bytes);
  const fp8 = cells.filter(({ cell }) => cell.precision === 'fp8');
  if (large.length === 0 && fp8.length === 0) return [];
  const report = await readReport(io.env);
  const gpu = typeof report === 'string' ? null : firstVisibleGpu(report.gpus, io.env);
  if (gpu === null) return [];
  const name = printable(gpu.name ?? 'GPU');
  const [refused] = lacksFp8(gpu) ? fp8 : [];
  const memoryBytes = (gpu.memoryTotalMib ?? Infinity) * 2 ** 20;
  const excessive = large.filter(({ bytes }) => bytes > memoryBytes);
  const ofEachModel = [...Map.groupBy(excessive, ({ entry }) => entry.cell.model).values()];
  const sizes = ofEachModel.flatMap((same) => same.slice(0, 1));
  const notes = [
    ...(refused === undefined
      ? []
      : [{ at: refused.precisionAt, problem: `FP8 needs a GPU of SM 8.9 (Ada) or newer, and ${name} is older` }]),
    ...sizes.map(({ bytes, entry: { at, cell } }) => ({
      at,
      problem: `${cellLabel(cell)}: its inputs take ${formatBytes(bytes)}, and ${name} has ${formatBytes(memoryBytes)}`,
    })),
  ];
  return notes.map(formatMistake);
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
  notes.push(...modelNotes(cells, models), ...(await gpuNotes(cells, models, io)));
  return { mistakes: modelMistakes(cells, models), lacking, notes };
}
