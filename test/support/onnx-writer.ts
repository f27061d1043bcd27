import { closeSync, ftruncateSync, openSync, writeSync } from 'node:fs';

import { BinaryWriter } from '@bufbuild/protobuf/wire';

/** Bytes, or so many zeros that no disk has to hold. */
export type Piece = Uint8Array | { readonly zeros: number };
type Dimensions = readonly (number | string)[];

const FLOAT16 = 10;

export const sizeOf = (pieces: readonly Piece[]): number =>
  pieces.reduce((sum, piece) => sum + ('zeros' in piece ? piece.zeros : piece.byteLength), 0);

/** A length-delimited field. */
export function bytesField(number: number, ...content: readonly Piece[]): Piece[] {
  const header = new BinaryWriter().uint32((number << 3) | 2).uint32(sizeOf(content));
  return [header.finish(), ...content];
}

export const textField = (number: number, text: string): Piece[] => bytesField(number, new TextEncoder().encode(text));

export function numberField(number: number, value: number): Piece[] {
  return [
    new BinaryWriter()
      .uint32(number << 3)
      .int64(value)
      .finish(),
  ];
}

/**
 * An input or output; a word is a dynamic dimension.
 * @param dataType of `TensorProto.DataType`
 */
export function valueInfo(number: number, name: string, shape: Dimensions, dataType = FLOAT16): Piece[] {
  const dims = shape.flatMap((size) =>
    bytesField(1, ...(typeof size === 'number' ? numberField(1, size) : textField(2, size))),
  );
  const tensor = bytesField(1, ...numberField(1, dataType), ...bytesField(2, ...dims));
  return bytesField(number, ...textField(1, name), ...bytesField(2, ...tensor));
}

export function node(opType: string, inputs: readonly string[], output: string): Piece[] {
  const names = inputs.flatMap((input) => textField(1, input));
  return bytesField(1, ...names, ...textField(2, output), ...textField(4, opType));
}

/** A float16 initializer of zeros; in a file of its own when `location` says which. */
export function initializer(name: string, elements: number, location: string | null = null, offset = 0): Piece[] {
  const entry = (key: string, value: string): Piece[] => bytesField(13, ...textField(1, key), ...textField(2, value));
  const bytes = elements * 2;
  const values =
    location === null
      ? bytesField(9, { zeros: bytes })
      : [
          ...entry('location', location),
          ...entry('offset', String(offset)),
          ...entry('length', String(bytes)),
          ...numberField(14, 1),
        ];
  const head = [...numberField(1, elements), ...numberField(2, FLOAT16), ...textField(8, name)];
  return bytesField(5, ...head, ...values);
}

export function model(opset: number, ...graph: readonly Piece[]): Piece[] {
  return [
    ...numberField(1, 8),
    ...textField(2, 'onnx-writer'),
    ...bytesField(7, ...graph),
    ...bytesField(8, ...numberField(2, opset)),
  ];
}

export const toBytes = (pieces: readonly Piece[]): Uint8Array =>
  Buffer.concat(pieces.map((piece) => ('zeros' in piece ? new Uint8Array(piece.zeros) : piece)));

/** Writes a file in which zeros take no room on the disk. */
export function writeSparse(path: string, pieces: readonly Piece[]): void {
  const file = openSync(path, 'w');
  let at = 0;
  for (const piece of pieces) {
    if ('zeros' in piece) at += piece.zeros;
    else at += writeSync(file, piece, 0, piece.byteLength, at);
  }
  ftruncateSync(file, at);
  closeSync(file);
}
