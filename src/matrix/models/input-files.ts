import type { HashedFiles } from '../matrix.ts';
import type { CellInputs, Shapes } from '../../records/cell.ts';
import type { MatrixModel } from './models.ts';
import type { MistakeList } from '../yaml/source-node.ts';

/** Bytes per element in TensorRT's types: int4 has half a byte. */
const ELEMENT_BYTES = [0.5, 1, 2, 4, 8];

export function inputsOf(model: MatrixModel, shapes: Shapes, hashed: HashedFiles, list: MistakeList): CellInputs {
  const files = Object.entries(model.inputFiles);
  if (files.length === 0) return { kind: 'random' };
  const sha256ByInput: Record<string, string> = {};
  for (const [input, { value: path, at }] of files) {
    if (/[,:]/.test(path)) {
      list.addAt(at, `inputs.${input}: ${path}: trtexec does not support a path with , or :`);
    }
    const file = hashed.get(path);
    if (file === undefined) {
      list.addAt(at, `inputs.${input}: ${path}: no such file, or it cannot be read`);
      continue;
    }
    // An input with fixed sizes may be absent from the shapes: the model states them, see `check-model.ts`.
    const shape = shapes[input];
    const elements = (shape ?? []).reduce((product, dimension) => product * dimension, 1);
    if (shape !== undefined && !ELEMENT_BYTES.some((bytes) => bytes * elements === file.bytes)) {
      list.addAt(
        at,
        `inputs.${input}: the file has ${file.bytes} bytes, but each of the ${elements} elements of ${shape.join('x')} takes one of ${ELEMENT_BYTES.join(', ')}`,
      );
    }
    sha256ByInput[input] = file.sha256;
  }
  return { kind: 'files', sha256ByInput };
}
