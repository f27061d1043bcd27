import { readFileSync, writeFileSync } from 'node:fs';

import { BinaryReader } from '@bufbuild/protobuf/wire';

import { bytesField, node, type Piece, toBytes, valueInfo } from '../../test/support/onnx-writer.ts';

const FLOAT32 = 1;
/** Field of the graph in `ModelProto`, and of outputs in `GraphProto`. */
const [GRAPH, OUTPUT] = [7, 12];

/**
 * Writes the model with more work behind its output: a number of Softmax in a row, a few microseconds each, with an output
 * of their own.
 */
export function writeSlowerModel(from: string, to: string, count: number, classes: number): void {
  const names = ['output', ...Array.from({ length: count }, (_, place) => `slower_${place}`)];
  const nodes = names.slice(1).flatMap((name, place) => node('Softmax', [names[place] ?? ''], name));
  const output = valueInfo(OUTPUT, names.at(-1) ?? '', ['batch', classes], FLOAT32);
  writeFileSync(to, toBytes(withMoreGraph(readFileSync(from), [...nodes, ...output])));
}

/** Fields of a message are in no order: what is new is at the end of the graph. */
function withMoreGraph(model: Uint8Array, more: readonly Piece[]): Piece[] {
  const reader = new BinaryReader(model);
  const pieces: Piece[] = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    if (field === GRAPH) pieces.push(...bytesField(GRAPH, reader.bytes(), ...more));
    else {
      reader.skip(wireType, field);
      pieces.push(model.subarray(start, reader.pos));
    }
  }
  return pieces;
}
