import { formatMistake } from '../../errors.ts';
import { type MatrixCell, onnxOf, type Placed } from '../matrix.ts';
import { opCountsText } from '../../tools/onnx/facts.ts';
import { factsOf, type FactsByModel } from './check-model.ts';

/** What the operators of a model mean for the cells that are to be measured. */
export function modelNotes(cells: readonly MatrixCell[], models: FactsByModel): string[] {
  const notes = cells.flatMap((entry) => {
    const facts = factsOf(entry, models);
    if (facts === null) return [];
    const { cell, at } = entry;
    const { dataDependentOps, controlFlowOps } = facts;
    const problems = [
      dataDependentOps.length > 0 && cell.inputs.kind === 'random'
        ? `${opCountsText(dataDependentOps)}: how much work it is hangs on the values, and random inputs are like no real ones; give real ones (inputs: {INPUT: FILE})`
        : null,
      controlFlowOps.length > 0 && cell.cudaGraph
        ? `${opCountsText(controlFlowOps)}: the host decides in between, so a CUDA graph is not likely to be captured or to help; measure with cudaGraph: off too`
        : null,
    ];
    return problems.flatMap((problem) =>
      problem === null ? [] : [formatMistake({ at, problem: `model "${cell.model}" has ${problem}` })],
    );
  });
  return [...new Set(notes)];
}

/** Each ONNX file with the place where it was first named. */
export function onnxFilesOf(cells: readonly MatrixCell[]): Placed<string>[] {
  const files = new Map<string, Placed<string>>();
  for (const { build } of cells) {
    const onnx = onnxOf(build.source);
    if (onnx !== null && !files.has(onnx.value)) files.set(onnx.value, onnx);
  }
  return [...files.values()];
}
