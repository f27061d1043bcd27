import type { Shapes } from '../../records/cell.ts';
import type { OnnxNetwork, OnnxTensor } from '../../tools/onnx/network.ts';
import { shapeRule } from './shape-rules.ts';

/** Of every tensor whose shape follows from the inputs; others are absent. */
export type KnownTensors = ReadonlyMap<string, OnnxTensor>;

/**
 * Shapes of a network's tensors at the shapes of its inputs. What a rule does not give is taken from the model's own
 * statement, where its dynamic dimensions are those of the inputs.
 * @param shapes of the inputs by name; those of static inputs may be left out
 */
export function inferShapes(network: OnnxNetwork, shapes: Shapes): KnownTensors {
  const known = new Map<string, OnnxTensor>(network.initializers);
  const sizes = new Map<string, number>();
  for (const [name, { elementType, shape }] of network.inputs) {
    const given = shapes[name] ?? shape?.flatMap((size) => (typeof size === 'number' ? size : []));
    // trtexec gives shapes to shape tensors, too: their values.
    if (given === undefined || shape === null || given.length !== shape.length) continue;
    known.set(name, { elementType, shape: given, values: null });
    shape.forEach((size, place) => {
      const actual = given[place];
      if (typeof size === 'string' && actual !== undefined) sizes.set(size, actual);
    });
  }
  for (const node of network.nodes) {
    const inputs = node.inputs.map((name) => (name === '' ? null : (known.get(name) ?? undefined)));
    const outputs = inputs.includes(undefined) ? [] : shapeRule(node, inputs);
    node.outputs.forEach((name, place) => {
      const tensor = outputs[place] ?? statedShape(network, name, sizes);
      if (name !== '' && tensor !== null && isPlausible(tensor)) known.set(name, tensor);
    });
  }
  return known;
}

function statedShape({ stated }: OnnxNetwork, name: string, sizes: ReadonlyMap<string, number>): OnnxTensor | null {
  const { elementType, shape = null } = stated.get(name) ?? {};
  if (elementType === undefined || shape === null) return null;
  const actual = shape.flatMap((size) => (typeof size === 'number' ? size : (sizes.get(size ?? '') ?? [])));
  return actual.length === shape.length ? { elementType, shape: actual, values: null } : null;
}

/** TensorRT takes eight. */
const MOST_DIMENSIONS = 32;

function isPlausible({ shape }: OnnxTensor): boolean {
  return (
    shape.length <= MOST_DIMENSIONS &&
    shape.every((size) => Number.isSafeInteger(size) && size >= 0) &&
    Number.isSafeInteger(elementsOf(shape))
  );
}

export function elementsOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}
