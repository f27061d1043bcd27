import { readFileSync, writeFileSync } from 'node:fs';

import { bytesField, node, toBytes, valueInfo } from '../../test/support/onnx-writer.ts';

const FLOAT32 = 1;

/**
 * Writes the model with more work behind its output: so many Softmax in a row, a few microseconds each, with an output
 * of their own. Protocol buffers merge: what is appended to the file is added to its graph.
 */
export function writeSlowerModel(from: string, to: string, count: number, classes: number): void {
  const names = ['output', ...Array.from({ length: count }, (_, place) => `slower_${place}`)];
  const nodes = names.slice(1).flatMap((name, place) => node('Softmax', [names[place] ?? ''], name));
  const output = valueInfo(12, names.at(-1) ?? '', ['batch', classes], FLOAT32);
  writeFileSync(to, Buffer.concat([readFileSync(from), toBytes(bytesField(7, ...nodes, ...output))]));
}
