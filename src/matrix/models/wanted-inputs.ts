import type { Shapes } from '../../records/cell.ts';
import type { WantedInput } from '../../variants/make-inputs.ts';
import { type OnnxTensorInfo, shapeText } from '../../tools/onnx/facts.ts';
import { printable } from '../../text/printable.ts';
import { didYouMean } from '../../text/nearest.ts';

/** The inputs with complete shapes, with stated sizes for open ones. Returns a text for a problem. */
export function wantedInputs(
  inputs: readonly OnnxTensorInfo[],
  stated: Shapes,
  types: readonly string[],
): readonly WantedInput[] | string {
  const names = inputs.map(({ name }) => name);
  const unknown = Object.keys(stated).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const listed = names.map((name) => printable(name)).join(', ');
    return `the model has no input ${printable(unknown)} (it has ${listed || 'none'})${printable(didYouMean(unknown, names))}`;
  }
  const wanted: WantedInput[] = [];
  const open: string[] = [];
  for (const input of inputs) {
    const read = wholeShape(input, stated[input.name]);
    if (typeof read === 'string') return read;
    if (!types.includes(input.elementType)) {
      return `input ${printable(input.name)} is ${input.elementType}, which TensorRT takes at no input (it takes ${types.join(', ')})`;
    }
    if (read === null) open.push(example(input));
    else wanted.push({ name: input.name, elementType: input.elementType, shape: read });
  }
  if (open.length === 0) return wanted;
  const all = [...wanted.flatMap(({ name, shape }) => (name in stated ? [`${name}:${shape.join('x')}`] : [])), ...open];
  return `the model leaves sizes open: add --shapes ${printable(all.join(','))}`;
}

/** Null if a size is open; a text describes a mistake. */
function wholeShape(
  { name, shape }: OnnxTensorInfo,
  stated: readonly number[] | undefined,
): readonly number[] | null | string {
  const shown = printable(name);
  if (stated === undefined) {
    const fixed = (shape ?? []).filter((size) => typeof size === 'number');
    return shape !== null && fixed.length === shape.length ? fixed : null;
  }
  if (stated.some((size) => size < 1)) return `input ${shown}: a size must be at least 1`;
  if (shape === null) return stated;
  if (shape.length !== stated.length) {
    return `input ${shown}: ${stated.join('x')} has ${stated.length} dimensions, the model ${shape.length}: ${printable(shapeText(shape))}`;
  }
  const place = shape.findIndex((size, at) => typeof size === 'number' && size !== stated[at]);
  return place === -1
    ? stated
    : `input ${shown}: ${stated[place]} in dimension ${place}, which the model fixes at ${shape[place]}: ${printable(shapeText(shape))}`;
}

function example({ name, shape }: OnnxTensorInfo): string {
  const sizes = (shape ?? ['?']).map((size) => (typeof size === 'number' ? size : 1));
  return `${name}:${sizes.join('x')}`;
}
