import type { CalibrationInput } from '../tools/modelopt/check-base.ts';
import { itemBytes, NPY_TYPES } from './npy.ts';
import { seededRandom } from '../matrix/plan/order.ts';
import type { ArrayToWrite } from './npz-write.ts';

/** Changes when the same seed gives other values: part of a variant's identity. */
export const RANDOM_CALIBRATION_VERSION = 1;

/**
 * Calibration values if only the inputs are known: floats distributed like normalized images (mean 0, deviation 1),
 * integers 0 or 1, which are always valid indices. ModelOpt's own random values differ each time.
 * @param samples minimum along the first dimension: rounded up to whole steps
 */
export function randomCalibration(inputs: readonly CalibrationInput[], samples: number, seed: number): ArrayToWrite[] {
  const random = seededRandom(seed);
  const [batch = 1] = inputs.map(({ shape }) => shape[0] ?? 1);
  const steps = Math.ceil(samples / batch);
  return inputs.map(({ elementType, name, shape }) => {
    const descr = NPY_TYPES[elementType] ?? '';
    const [first, ...rest] = shape;
    const all = first === undefined ? [] : [first * steps, ...rest];
    const count = all.reduce((product, size) => product * size, 1);
    return { name, descr, shape: all, values: () => valuesOf(descr, count, random) };
  });
}

function valuesOf(descr: string, count: number, random: () => number): Buffer {
  const bytes = itemBytes(descr);
  const buffer = Buffer.alloc(count * bytes);
  for (let at = 0; at < buffer.length; at += bytes) {
    if (descr === '<f4') buffer.writeFloatLE(spread(random), at);
    else if (descr === '<f8') buffer.writeDoubleLE(spread(random), at);
    else if (descr === '<f2') buffer.writeUInt16LE(halfBits(spread(random)), at);
    else buffer[at] = random() < 0.5 ? 0 : 1;
  }
  return buffer;
}

const SCALE = Math.sqrt(3);

/** The sum of four uniform values: avoids functions whose last bit differs between machines. */
function spread(random: () => number): number {
  return (random() + random() + random() + random() - 2) * SCALE;
}

/** The nearest float16 towards zero; exact for magnitudes from 2^-14 to 65504, and 0 below. */
function halfBits(value: number): number {
  const sign = value < 0 ? 0x8000 : 0;
  const size = Math.abs(value);
  if (size < 2 ** -14) return sign;
  let exponent = 0;
  let fraction = size;
  for (; fraction >= 2; fraction /= 2) exponent += 1;
  for (; fraction < 1; fraction *= 2) exponent -= 1;
  return sign | ((exponent + 15) << 10) | Math.floor((fraction - 1) * 1024);
}
