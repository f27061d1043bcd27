import { CELL_FIELDS } from '../../matrix/cell-fields.ts';
import { AXIS_NAMES } from '../../matrix/schema/schema.ts';
import type { OnnxDimension, OnnxTensorInfo } from '../../tools/onnx/facts.ts';
import type { DraftDimension, DraftModel } from './matrix-draft.ts';

type SizeGuess = Omit<DraftDimension, 'name'>;

interface Rule {
  readonly name: RegExp;
  readonly guess: SizeGuess;
}

function one(opt: number, min: number, max: number, why: string): SizeGuess {
  return { values: [opt], min, opt, max, why };
}

const BATCH: SizeGuess = { ...one(8, 1, 32, 'a batch: three sizes, tuned for the middle one'), values: [1, 8, 32] };

/** Tried in order on the lower-case name of a dimension. */
const RULES: readonly Rule[] = [
  { name: /^(?:n|b|bs|num_samples)$|batch/, guess: BATCH },
  { name: /chan/, guess: one(3, 3, 3, 'channels: those of a colour image') },
  { name: /past|cache|kv/, guess: one(128, 1, 512, 'tokens that were there before') },
  { name: /seq|len|token|context|^[lst]$/, guess: one(128, 1, 512, 'a length of a sequence') },
  { name: /height|width|image|pixel|^[hw]$/, guess: one(256, 128, 512, 'the side of an image: multiples of 64') },
  { name: /frame|time|audio|sample/, guess: one(128, 1, 512, 'a number of steps in time') },
];

const UNKNOWN = one(16, 1, 64, 'a pure guess: the model does not say what this is');

/**
 * A size for an open dimension.
 * @param name such as `batch`, `seq_len` or `past + seq_len`; null when unnamed
 * @param place 0-based; an unclear first dimension is taken for the batch
 */
export function guessSize(name: string | null, place: number): SizeGuess {
  const parts = (name ?? '').split('+').map((part) => part.trim().toLowerCase());
  if (parts.length > 1 && parts.every((part) => part !== '')) return sum(parts.map(byName));
  const [only = ''] = parts;
  const guess = byName(only);
  return guess === UNKNOWN && place === 0 ? BATCH : guess;
}

function byName(name: string): SizeGuess {
  if (/^\d+$/.test(name)) return one(Number(name), Number(name), Number(name), 'a number');
  return RULES.find((rule) => rule.name.test(name))?.guess ?? UNKNOWN;
}

function sum(guesses: readonly SizeGuess[]): SizeGuess {
  const total = (of: (guess: SizeGuess) => number): number => guesses.reduce((all, guess) => all + of(guess), 0);
  const [opt, min, max] = [total((each) => each.opt), total((each) => each.min), total((each) => each.max)];
  return one(opt, min, max, 'the sum of the others in its name');
}

type DraftShapes = Pick<DraftModel, 'shapes' | 'dimensions'>;

/** Names that mean something else where an axis or a filter is; a dimension `batch` is the field of that name. */
const TAKEN = new Set<string>([...AXIS_NAMES, ...CELL_FIELDS, 'model'].filter((name) => name !== 'batch'));

/** Shapes for inputs with open dimensions, with sizes; or why there are none. */
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
      return `trtexec does not support input ${name}: it has a comma, a quote or a space in its name`;
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

/** One axis per named dimension, one per unnamed one. */
class AxisNames {
  readonly #byOrigin = new Map<string, DraftDimension>();
  readonly #used = new Set<string>();
  readonly #leading: string | null;

  /** An unnamed first dimension is the one that other inputs name, if they agree. */
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

  #free(wanted: string): string {
    const word = wanted.replaceAll(/\W+/g, '_').replace(/^(?=\d)/, '_');
    const base = /[A-Za-z]/.test(word) ? word : `dim${this.#used.size}`;
    const plain = TAKEN.has(base) ? `${base}_dim` : base;
    let name = plain;
    for (let number = 2; this.#used.has(name); number += 1) name = `${plain}_${number}`;
    this.#used.add(name);
    return name;
  }
}
