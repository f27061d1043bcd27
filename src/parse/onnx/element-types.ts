/** Name and bits of each `TensorProto.DataType`, by its number in onnx.proto. */
const ELEMENT_TYPES: readonly (readonly [name: string, bits: number])[] = [
  ['undefined', 0],
  ['float32', 32],
  ['uint8', 8],
  ['int8', 8],
  ['uint16', 16],
  ['int16', 16],
  ['int32', 32],
  ['int64', 64],
  ['string', 0],
  ['bool', 8],
  ['float16', 16],
  ['float64', 64],
  ['uint32', 32],
  ['uint64', 64],
  ['complex64', 64],
  ['complex128', 128],
  ['bfloat16', 16],
  ['float8e4m3fn', 8],
  ['float8e4m3fnuz', 8],
  ['float8e5m2', 8],
  ['float8e5m2fnuz', 8],
  ['uint4', 4],
  ['int4', 4],
  ['float4e2m1', 4],
  ['float8e8m0', 8],
  ['uint2', 2],
  ['int2', 2],
];

export function elementTypeName(dataType: number): string {
  return ELEMENT_TYPES[dataType]?.[0] ?? `type ${dataType}`;
}

/** Bytes of so many elements, whole ones: four-bit types are packed. */
export function elementBytes(dataType: number, elements: number): number {
  return Math.ceil((elements * (ELEMENT_TYPES[dataType]?.[1] ?? 0)) / 8);
}
