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

/** The bits of the nearest value of a small format; ties to even. For values in its range. */
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
  if (rest !== 0.5) return rest < 0.5 ? low : low + 1;
  return low % 2 === 0 ? low : low + 1;
}
