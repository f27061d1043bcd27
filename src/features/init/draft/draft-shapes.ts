import type { DraftDimension, DraftModel } from '../matrix-draft.ts';
import type { OnnxDimension, OnnxTensorInfo } from '../../../tools/onnx/facts.ts';
import { CELL_FIELDS } from '../../../matrix/cells/cell-fields.ts';
import { AXIS_NAMES } from '../../../matrix/schema/schema.ts';
import { guessSize } from './guess-size.ts';

export type DraftShapes = Pick<DraftModel, 'shapes' | 'dimensions'>;

/** Names that mean something else where an axis or a filter stands; a dimension `batch` is the field of that name. */
const TAKEN = new Set<string>([...AXIS_NAMES, ...CELL_FIELDS, 'model'].filter((name) => name !== 'batch'));

/** Shapes for the inputs that leave dimensions open, and sizes for these; or why there are none. */
export function draftShapes(inputs: readonly OnnxTensorInfo[]): DraftShapes | string {
  const open: { readonly input: string; readonly shape: readonly OnnxDimension[] }[] = [];
  for (const { name, elementType, shape } of inputs) {
    if (['sequence', 'map', 'optional', 'opaque'].includes(elementType)) {
      return `input ${name} is no tensor but a ${elementType}`;
    }
    if (elementType === 'string') return `input ${name} holds texts, which TensorRT cannot take`;
    if (shape === null) return `it does not say how many dimensions input ${name} has`;
    if (shape.every((dimension) => typeof dimension === 'number')) continue;
    if (/[,'\s]/.test(name)) {
      return `trtexec cannot be told of input ${name}: it has a comma, a quote or a space in its name`;
    }
    open.push({ input: name, shape });
  }
  if (open.length === 0) return { shapes: null, dimensions: [] };
  const axes = new AxisNames(open.flatMap(({ shape }) => shape.slice(0, 1)));
  const shapes = open.map(({ input, shape }): [string, (number | string)[]] => [
    input,
    shape.map((dimension, place) => axes.of(input, dimension, place)),
  ]);
  return { shapes: Object.fromEntries(shapes), dimensions: axes.dimensions() };
}

/** One axis for each dimension that the model names, and one for each that it does not. */
class AxisNames {
  readonly #byOrigin = new Map<string, DraftDimension>();
  readonly #used = new Set<string>();
  readonly #leading: string | null;

  /** A first dimension without a name is the one that other inputs name, when they agree. */
  constructor(first: readonly OnnxDimension[]) {
    const named = new Set(first.filter((dimension) => typeof dimension === 'string'));
    const [only = null] = named;
    this.#leading = named.size === 1 ? only : null;
  }

  of(input: string, dimension: OnnxDimension, place: number): number | string {
    if (typeof dimension === 'number') return dimension;
    const stated = dimension ?? (place === 0 ? this.#leading : null);
    const origin = stated ?? (place === 0 ? '' : `${input}\0${place}`);
    const known = this.#byOrigin.get(origin);
    if (known !== undefined) return known.name;
    const name = this.#free(stated ?? (place === 0 ? 'batch' : `${input}_dim${place}`));
    const guess = guessSize(stated, place);
    this.#byOrigin.set(origin, { name, ...guess });
    return name;
  }

  dimensions(): DraftDimension[] {
    return [...this.#byOrigin.values()];
  }

  #free(wish: string): string {
    const word = wish.replaceAll(/\W+/g, '_').replace(/^(?=\d)/, '_');
    const base = /[A-Za-z]/.test(word) ? word : `dim${this.#used.size}`;
    const plain = TAKEN.has(base) ? `${base}_dim` : base;
    let name = plain;
    for (let number = 2; this.#used.has(name); number += 1) name = `${plain}_${number}`;
    this.#used.add(name);
    return name;
  }
}
