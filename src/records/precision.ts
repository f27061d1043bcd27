export const PRECISIONS = ['fp32', 'tf32', 'fp16', 'bf16', 'int8', 'fp8', 'int4', 'best'] as const;

export type Precision = (typeof PRECISIONS)[number];

/**
 * How a precision is reached:
 * - `flag`: a trtexec flag on a weakly typed network (TensorRT up to 10.x),
 * - `onnx`: an ONNX file that already has it (strongly typed where the version can),
 * - `autocast`, `modelopt`: the base ONNX converted by ModelOpt,
 * - `engine`: a built engine was given.
 */
export const PRECISION_ROUTES = ['flag', 'onnx', 'autocast', 'modelopt', 'engine'] as const;

export type PrecisionRoute = (typeof PRECISION_ROUTES)[number];

/** TensorRT 11 has no precision flags, so these need no flag at all. fp32 and tf32 are the base model itself. */
export const DEFAULT_ROUTE: Readonly<Record<Precision, PrecisionRoute>> = {
  fp32: 'onnx',
  tf32: 'onnx',
  fp16: 'autocast',
  bf16: 'autocast',
  int8: 'modelopt',
  fp8: 'modelopt',
  int4: 'modelopt',
  best: 'flag',
};
