import { createHash } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import { sha256OfFile, writeAtomically } from '../files/files.ts';
import { temporaryPath } from '../files/layout.ts';
import { ensure } from '../errors.ts';
import { seededRandom } from '../matrix/plan/order.ts';
import { printable } from '../text/printable.ts';
import type { SizedInput } from '../tools/onnx/facts.ts';

export const DISTRIBUTIONS = ['uniform', 'normal', 'ones', 'zeros'] as const;

export type Distribution = (typeof DISTRIBUTIONS)[number];

/** Both ends included. */
export type IntegerRange = readonly [number, number];

export interface InputRecipe {
  readonly distribution: Distribution;
  readonly seed: number;
  /** Null takes trtexec's default range. */
  readonly integers: IntegerRange | null;
}

/** This file next to the inputs says how they were made. */
const INPUTS_MANIFEST = 'inputs.json';

/** Must change when the same recipe gives other bytes. */
const RECIPE_VERSION = 1;

/** Writes the inputs and their manifest, which shows `model`. Never overwrites a file whose bytes differ. */
export async function makeInputs(
  folder: string,
  model: string,
  inputs: readonly SizedInput[],
  recipe: InputRecipe,
  signal: AbortSignal,
) {
  await mkdir(folder, { recursive: true });
  const made: (SizedInput & { readonly file: string; readonly bytes: number; readonly sha256: string })[] = [];
  for (const { elementType, name, shape } of inputs) {
    const file = fileName(name, elementType);
    const path = join(folder, file);
    const temporary = temporaryPath(path);
    try {
      await pipeline(Readable.from(inputBytes({ elementType, name, shape }, recipe)), createWriteStream(temporary), {
        signal,
      });
      const written = await sha256OfFile(temporary);
      ensure(
        !existsSync(path) || (await sha256OfFile(path)).sha256 === written.sha256,
        `${printable(path)} exists with other contents, and a matrix may use it: choose another --output`,
      );
      await rename(temporary, path);
      made.push({ name, elementType, shape, file, ...written });
    } finally {
      await rm(temporary, { force: true });
    }
  }
  const manifest = { schemaVersion: 1, recipeVersion: RECIPE_VERSION, model, ...recipe, inputs: made };
  await writeAtomically(join(folder, INPUTS_MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  return made;
}

/** trtexec accepts no path with a comma or a colon. A hash keeps names apart that become equal. */
function fileName(name: string, elementType: string): string {
  const plain = name.replaceAll(/[^\w.-]/g, '_').replace(/^\.+/, '_');
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  const short = plain.slice(0, 100);
  return `${short === name ? name : `${short}-${hash}`}.${elementType}.bin`;
}

const PART_ELEMENTS = 1 << 16;

/**
 * The bytes of an input in parts. Elements are row by row, with the lowest byte first. The values depend on the input's
 * name, the seed and the recipe only, not on other inputs.
 * @throws RangeError for a type without a coding
 */
export function* inputBytes(input: SizedInput, recipe: InputRecipe): Generator<Buffer> {
  const coding = ELEMENT_CODINGS[input.elementType];
  if (coding === undefined) throw new RangeError(`no coding for ${input.elementType}`);
  const next = valuesOf(input.name, coding, recipe);
  const elements = input.shape.reduce((product, size) => product * size, 1);
  for (let done = 0; done < elements; done += PART_ELEMENTS) {
    const count = Math.min(PART_ELEMENTS, elements - done);
    const buffer = Buffer.alloc(count * coding.bytes);
    for (let index = 0; index < count; index += 1) coding.write(buffer, index * coding.bytes, next());
    yield buffer;
  }
}

/** An endless source of values; integers for an integer type. */
function valuesOf(
  name: string,
  { bytes, range }: ElementCoding,
  { distribution, integers, seed }: InputRecipe,
): () => number {
  if (distribution === 'ones') return () => 1;
  if (distribution === 'zeros') return () => 0;
  const random = seededRandom(createHash('sha256').update(`${seed}\0${name}`).digest().readUInt32LE(0));
  if (range === null) return distribution === 'normal' ? () => normal(random) : () => 2 * random() - 1;
  const usual = bytes > 1 ? USUAL_INTEGERS : range;
  // Booleans are 0 or 1, whatever the integer range.
  const [low, high] = range[1] === 1 ? range : (integers ?? usual);
  if (distribution === 'uniform') return () => low + Math.floor(random() * (high - low + 1));
  const middle = (low + high) / 2;
  const deviation = (high - low + 1) / 8;
  return () => Math.min(high, Math.max(low, Math.round(middle + deviation * normal(random))));
}

/** Mean 0 and deviation 1, as the sum of twelve uniform values: logarithms and sines differ between machines. */
function normal(random: () => number): number {
  let sum = -6;
  for (let draw = 0; draw < 12; draw += 1) sum += random();
  return sum;
}

interface ElementCoding {
  readonly bytes: number;
  readonly write: (buffer: Buffer, at: number, value: number) => unknown;
  /** Integers that the type holds; null for a floating-point type. */
  readonly range: IntegerRange | null;
}

/** Integers drawn without a stated range for types of more than 8 bits, as by trtexec. */
const USUAL_INTEGERS: IntegerRange = [-128, 127];

/** Input types of TensorRT by ONNX's names. */
export const ELEMENT_CODINGS: Readonly<Record<string, ElementCoding>> = {
  float32: { bytes: 4, range: null, write: (buffer, at, value) => buffer.writeFloatLE(value, at) },
  float16: smallFloat(5, 10),
  bfloat16: smallFloat(8, 7),
  int64: {
    bytes: 8,
    range: [-(2 ** 63), 2 ** 63 - 1],
    write: (buffer, at, value) => buffer.writeBigInt64LE(BigInt(value), at),
  },
  int32: { bytes: 4, range: [-(2 ** 31), 2 ** 31 - 1], write: (buffer, at, value) => buffer.writeInt32LE(value, at) },
  int8: { bytes: 1, range: [-128, 127], write: (buffer, at, value) => buffer.writeInt8(value, at) },
  uint8: { bytes: 1, range: [0, 255], write: (buffer, at, value) => buffer.writeUInt8(value, at) },
  bool: { bytes: 1, range: [0, 1], write: (buffer, at, value) => buffer.writeUInt8(value, at) },
};

function smallFloat(exponentBits: number, fractionBits: number): ElementCoding {
  return {
    bytes: 2,
    range: null,
    write: (buffer, at, value) => buffer.writeUInt16LE(smallFloatBits(value, exponentBits, fractionBits), at),
  };
}

/**
 * The bits of the nearest value of a format with a sign, an exponent and a fraction, with ties to even. Only for values
 * within its range.
 */
export function smallFloatBits(value: number, exponentBits: number, fractionBits: number): number {
  const sign = value < 0 ? 1 << (exponentBits + fractionBits) : 0;
  const size = Math.abs(value);
  if (size === 0) return sign;
  const bias = 2 ** (exponentBits - 1) - 1;
  let exponent = 1 - bias;
  while (size >= 2 ** (exponent + 1)) exponent += 1;
  // Above the smallest exponent the leading bit is implicit; a carry from rounding increments the exponent.
  const steps = size / 2 ** (exponent - fractionBits);
  const low = Math.floor(steps);
  const isUp = steps - low > 0.5 || (steps - low === 0.5 && low % 2 === 1);
  return sign + ((exponent + bias - 1) << fractionBits) + low + Number(isUp);
}
