import type { OnnxNode, OnnxTensor } from '../../tools/onnx/network.ts';

/** Sizes of all labels of an equation and of its output; null for one with an ellipsis, or that does not fit its inputs. */
export function einsumSizes({ attributes }: OnnxNode, inputs: readonly (OnnxTensor | null | undefined)[]) {
  const equation = attributes.get('equation');
  if (typeof equation !== 'string' || equation.includes('.')) return null;
  const [left = '', right] = equation.replaceAll(' ', '').split('->');
  const terms = left.split(',');
  const sizes = new Map<string, number>();
  for (const [place, term] of terms.entries()) {
    const shape = inputs[place]?.shape;
    if (shape?.length !== term.length) return null;
    [...term].forEach((label, axis) => sizes.set(label, Math.max(sizes.get(label) ?? 1, shape[axis] ?? 1)));
  }
  const once = [...sizes.keys()].filter((label) => left.split(label).length === 2).toSorted();
  const output = [...(right ?? once.join(''))].map((label) => sizes.get(label) ?? Number.NaN);
  return { all: [...sizes.values()], output, terms: terms.length };
}
