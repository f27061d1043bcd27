/** What is proposed for one open dimension. */
export interface SizeGuess {
  readonly values: readonly number[];
  readonly min: number;
  readonly opt: number;
  readonly max: number;
  readonly why: string;
}

interface Rule {
  readonly name: RegExp;
  readonly guess: SizeGuess;
}

const one = (value: number, min: number, max: number, why: string): SizeGuess => ({
  values: [value],
  min,
  opt: value,
  max,
  why,
});

const BATCH: SizeGuess = {
  values: [1, 8, 32],
  min: 1,
  opt: 8,
  max: 32,
  why: 'a batch: three sizes, tuned for the middle one',
};

/** Tried in this order on the name of a dimension, in small letters. */
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
 * A size for a dimension that a model leaves open.
 * @param name as the model has it, such as `batch`, `seq_len` or `past + seq_len`; null for one without a name
 * @param place from 0; a first dimension without a telling name is taken for the batch
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

/** `past + seq` has the size of both. */
function sum(guesses: readonly SizeGuess[]): SizeGuess {
  const total = (of: (guess: SizeGuess) => number): number => guesses.reduce((all, guess) => all + of(guess), 0);
  return {
    values: [total(({ opt }) => opt)],
    min: total(({ min }) => min),
    opt: total(({ opt }) => opt),
    max: total(({ max }) => max),
    why: 'the sum of the others in its name',
  };
}
