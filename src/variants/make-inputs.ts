import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { sha256OfFile, writeAtomically } from '../files/files.ts';
import { temporaryPath } from '../files/layout.ts';
import { InterruptedError, UsageError } from '../errors.ts';
import { seededRandom } from '../matrix/plan/order.ts';
import { printable } from '../text/printable.ts';

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

export interface WantedInput {
  readonly name: string;
  readonly elementType: string;
  readonly shape: readonly number[];
}

interface MadeInput extends WantedInput {
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** This file next to the inputs says how they were made. */
const INPUTS_MANIFEST = 'inputs.json';

/** Must change when the same recipe gives other bytes. */
const RECIPE_VERSION = 1;

/**
 * Writes the inputs and their manifest, which shows `model`. Keeps existing files, and never overwrites one whose bytes
 * differ.
 */
export async function makeInputs(
  folder: string,
  model: string,
  inputs: readonly WantedInput[],
  recipe: InputRecipe,
  signal: AbortSignal,
): Promise<MadeInput[]> {
  await mkdir(folder, { recursive: true });
  const made: MadeInput[] = [];
  for (const input of inputs) made.push(await makeInput(folder, input, recipe, signal));
  const manifest = { schemaVersion: 1, recipeVersion: RECIPE_VERSION, model, ...recipe, inputs: made };
  await writeAtomically(join(folder, INPUTS_MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
  return made;
}

async function makeInput(
  folder: string,
  { elementType, name, shape }: WantedInput,
  recipe: InputRecipe,
  signal: AbortSignal,
): Promise<MadeInput> {
  const file = fileName(name, elementType);
  const path = join(folder, file);
  const temporary = temporaryPath(path);
  try {
    const written = await writeParts(temporary, inputBytes({ elementType, name, shape }, recipe), signal);
    if (existsSync(path)) {
      const { sha256 } = await sha256OfFile(path);
      if (sha256 !== written.sha256) {
        throw new UsageError(
          `${printable(path)} exists with other contents, and a matrix may use it: choose another --output`,
        );
      }
    } else await rename(temporary, path);
    return { name, elementType, shape, file, ...written };
  } finally {
    await rm(temporary, { force: true });
  }
}

async function writeParts(path: string, parts: Iterable<Buffer>, signal: AbortSignal) {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'w');
  try {
    for (const part of parts) {
      if (signal.aborted) throw new InterruptedError('interrupted');
      hash.update(part);
      bytes += part.length;
      await file.writeFile(part);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

/** trtexec accepts no path with a comma or a colon. A hash keeps names apart that become equal. */
function fileName(name: string, elementType: string): string {
  const plain = name.replaceAll(/[^\w.-]/g, '_').replace(/^\.+/, '_');
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  const short = plain.slice(0, 100);
  return `${short === name ? name : `${short}-${hash}`}.${elementType}.bin`;
}

/** Elements per part. An even number, so that no byte with two four-bit values is split. */
const PART_ELEMENTS = 1 << 16;

/**
 * The bytes of an input in parts. Elements are row by row, with the lowest byte first; of two four-bit values the first
 * is in the lower half. The values depend on the input's name, the seed and the recipe only, not on other inputs.
 * @throws RangeError for a type without a coding
 */
export function* inputBytes(input: WantedInput, recipe: InputRecipe): Generator<Buffer> {
  const coding = ELEMENT_CODINGS[input.elementType];
  if (coding === undefined) throw new RangeError(`no coding for ${input.elementType}`);
  const next = valuesOf(input.name, coding, recipe);
  const elements = input.shape.reduce((product, size) => product * size, 1);
  for (let done = 0; done < elements; done += PART_ELEMENTS) {
    yield partOf(coding, Math.min(PART_ELEMENTS, elements - done), next);
  }
}

function partOf(coding: ElementCoding, count: number, next: () => number): Buffer {
  const bits = coding.kind === 'float32' ? 32 : coding.bits;
  const buffer = Buffer.alloc(Math.ceil((count * bits) / 8));
  for (let index = 0; index < count; index += 1) write(buffer, index, coding, next());
  return buffer;
}

function write(buffer: Buffer, index: number, coding: ElementCoding, value: number): void {
  if (coding.kind === 'float32') {
    buffer.writeFloatLE(value, 4 * index);
    return;
  }
  const pattern = coding.kind === 'smallFloat' ? smallFloatBits(value, coding) : value;
  const { bits } = coding;
  if (bits === 4) {
    const at = index >> 1;
    buffer[at] = (buffer[at] ?? 0) | ((pattern & 0xf) << (4 * (index & 1)));
  } else if (bits === 64) buffer.writeBigInt64LE(BigInt(pattern), 8 * index);
  else if (bits === 32) buffer.writeInt32LE(pattern, 4 * index);
  else if (bits === 16) buffer.writeUInt16LE(pattern, 2 * index);
  else buffer[index] = pattern & 0xff;
}

/** An endless source of values; integers for an integer type. */
function valuesOf(name: string, coding: ElementCoding, { distribution, integers, seed }: InputRecipe): () => number {
  if (distribution === 'ones') return () => 1;
  if (distribution === 'zeros') return () => 0;
  const random = seededRandom(seedOf(name, seed));
  if (coding.kind !== 'integer') {
    return distribution === 'normal' ? () => normal(random) : () => 2 * random() - 1;
  }
  // Booleans are 0 or 1, whatever the integer range.
  const [low, high] = coding.usual[1] === 1 ? coding.usual : (integers ?? coding.usual);
  if (distribution === 'uniform') return () => low + Math.floor(random() * (high - low + 1));
  const middle = (low + high) / 2;
  const deviation = (high - low + 1) / 8;
  return () => Math.min(high, Math.max(low, Math.round(middle + deviation * normal(random))));
}

function seedOf(name: string, seed: number): number {
  return createHash('sha256').update(`${seed}\0${name}`).digest().readUInt32LE(0);
}

/** Mean 0 and deviation 1, as the sum of twelve uniform values: logarithms and sines differ between machines. */
function normal(random: () => number): number {
  let sum = -6;
  for (let draw = 0; draw < 12; draw += 1) sum += random();
  return sum;
}

/** A floating-point format of less than 32 bits: sign, exponent, fraction. */
interface SmallFloat {
  readonly exponentBits: number;
  readonly fractionBits: number;
}

export type ElementCoding =
  | { readonly kind: 'float32' }
  | ({ readonly kind: 'smallFloat'; readonly bits: number } & SmallFloat)
  | {
      readonly kind: 'integer';
      readonly bits: number;
      readonly isSigned: boolean;
      /** trtexec's default range. */
      readonly usual: readonly [number, number];
    };

const integer = (bits: number, isSigned: boolean, usual: readonly [number, number]): ElementCoding => ({
  kind: 'integer',
  bits,
  isSigned,
  usual,
});

const smallFloat = (exponentBits: number, fractionBits: number): ElementCoding => ({
  kind: 'smallFloat',
  bits: 1 + exponentBits + fractionBits,
  exponentBits,
  fractionBits,
});

/** Input types that TensorRT supports, by ONNX's names. */
export const ELEMENT_CODINGS: Readonly<Record<string, ElementCoding>> = {
  float32: { kind: 'float32' },
  float16: smallFloat(5, 10),
  bfloat16: smallFloat(8, 7),
  float8e4m3fn: smallFloat(4, 3),
  float8e5m2: smallFloat(5, 2),
  float4e2m1: smallFloat(2, 1),
  int64: integer(64, true, [-128, 127]),
  int32: integer(32, true, [-128, 127]),
  int8: integer(8, true, [-128, 127]),
  uint8: integer(8, false, [0, 255]),
  int4: integer(4, true, [-8, 7]),
  bool: integer(8, false, [0, 1]),
};

/** The bits of the nearest value of a small format, with ties to even. Only for values within its range. */
export function smallFloatBits(value: number, { exponentBits, fractionBits }: SmallFloat): number {
  const sign = value < 0 ? 1 << (exponentBits + fractionBits) : 0;
  const size = Math.abs(value);
  if (size === 0) return sign;
  const bias = 2 ** (exponentBits - 1) - 1;
  let exponent = 1 - bias;
  while (size >= 2 ** (exponent + 1)) exponent += 1;
  // Above the smallest exponent the leading bit is implicit; a carry from rounding increments the exponent.
  const steps = roundToEven(size / 2 ** (exponent - fractionBits));
  return sign + ((exponent + bias - 1) << fractionBits) + steps;
}

function roundToEven(value: number): number {
  const low = Math.floor(value);
  const rest = value - low;
  return rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : low + 1;
}
