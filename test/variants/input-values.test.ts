import { createHash } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { ELEMENT_CODINGS, inputBytes, smallFloatBits } from '../../src/variants/make-inputs.ts';
import type { Distribution, IntegerRange } from '../../src/variants/make-inputs.ts';
import { elementsBytes } from '../../src/tools/onnx/facts.ts';
import { seededRandom } from '../../src/matrix/plan/order.ts';

function bytes(
  elementType: string,
  shape: readonly number[],
  distribution: Distribution = 'uniform',
  integers: IntegerRange | null = null,
  name = 'input',
): Buffer {
  return Buffer.concat([...inputBytes({ name, elementType, shape }, { distribution, seed: 1, integers })]);
}

const floats = (buffer: Buffer): number[] =>
  Array.from({ length: buffer.length / 4 }, (_, index) => buffer.readFloatLE(4 * index));

/** What the bits of a small float mean, by the definition of IEEE 754. */
function decoded(pattern: number, exponentBits: number, fractionBits: number): number {
  const fraction = pattern % 2 ** fractionBits;
  const exponent = Math.floor(pattern / 2 ** fractionBits) % 2 ** exponentBits;
  const bias = 2 ** (exponentBits - 1) - 1;
  const size =
    exponent === 0
      ? fraction * 2 ** (1 - bias - fractionBits)
      : (2 ** fractionBits + fraction) * 2 ** (exponent - bias - fractionBits);
  return pattern >= 2 ** (exponentBits + fractionBits) ? -size : size;
}

describe('small floats', () => {
  test.each([
    ['float16', 1, 0x3c00, 5, 10],
    ['float16', -2, 0xc000, 5, 10],
    ['float16', 0.1, 0x2e66, 5, 10],
    ['float16', 2 ** -24, 0x0001, 5, 10],
    ['bfloat16', 1, 0x3f80, 8, 7],
    ['bfloat16', 0.1, 0x3dcd, 8, 7],
  ])('%s of %d', (_, value, pattern, exponentBits, fractionBits) =>
    expect(smallFloatBits(value, exponentBits, fractionBits)).toBe(pattern),
  );

  test('float16 is that of the machine, and bfloat16 the nearest', () => {
    const random = seededRandom(7);
    for (let index = 0; index < 5000; index += 1) {
      const value = (random() - 0.5) * 2 ** (-20 * random() + 4);
      expect(decoded(smallFloatBits(value, 5, 10), 5, 10)).toBe(Math.f16round(value));
      const error = Math.abs(decoded(smallFloatBits(value, 8, 7), 8, 7) - value);
      expect(error).toBeLessThanOrEqual(Math.abs(value) * 2 ** -8);
    }
  });
});

describe('values', () => {
  test('floats are from -1 to 1, or have mean 0 and deviation 1', () => {
    const uniform = floats(bytes('float32', [100_000]));
    expect(Math.min(...uniform.slice(0, 1000))).toBeGreaterThanOrEqual(-1);
    expect(Math.abs(uniform.reduce((sum, value) => sum + value, 0) / uniform.length)).toBeLessThan(0.01);
    const normal = floats(bytes('float32', [100_000], 'normal'));
    expect(Math.abs(normal.reduce((sum, value) => sum + value ** 2, 0) / normal.length - 1)).toBeLessThan(0.02);
    // Of a normal distribution 68.27 % lie within one deviation.
    const within = normal.filter((value) => Math.abs(value) < 1).length / normal.length;
    expect(Math.abs(within - 0.6827)).toBeLessThan(0.01);
  });

  test('whole numbers are what the type or the range holds', () => {
    const signed = bytes('int8', [4096]);
    const values = Array.from({ length: 4096 }, (_, index) => signed.readInt8(index));
    expect([Math.min(...values), Math.max(...values)]).toEqual([-128, 127]);
    const tokens = bytes('int64', [4096], 'uniform', [0, 9]);
    const ids = new Set(Array.from({ length: 4096 }, (_, index) => Number(tokens.readBigInt64LE(8 * index))));
    expect([...ids].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const normal = bytes('int32', [4096], 'normal', [0, 9]);
    const drawn = Array.from({ length: 4096 }, (_, index) => normal.readInt32LE(4 * index));
    expect([Math.min(...drawn), Math.max(...drawn)]).toEqual([0, 9]);
    expect(new Set(bytes('bool', [4096], 'uniform', [0, 9]))).toEqual(new Set([0, 1]));
  });

  test.each(Object.keys(ELEMENT_CODINGS))('%s takes the bytes that its type says', (type) => {
    // More than one part.
    expect(bytes(type, [3, 30_001])).toHaveLength(elementsBytes(type, 3 * 30_001) ?? -1);
  });

  /** Once published, the bytes of a recipe stay: they are part of what a cell is. A Python program gave the same. */
  test.each([
    ['float32', 'uniform', 'eb5faf7d28a385b8'],
    ['float32', 'normal', '2f538a6520313810'],
    ['float16', 'normal', '5d1b542942de8c7a'],
    ['int64', 'uniform', '1fba455c7dd69735'],
  ] as const)('the bytes of %s, %s', (type, distribution, sha256) => {
    const hash = createHash('sha256')
      .update(bytes(type, [1000], distribution))
      .digest('hex');
    expect(hash.slice(0, 16)).toBe(sha256);
  });
});
