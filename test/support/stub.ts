import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { model, toBytes, valueInfo } from './onnx-writer.ts';

/** A program that stands in for trtexec; every number of it is made up. */
export const STUB = join(import.meta.dirname, 'stub-trtexec.mjs');

/** A matrix of two cells of one engine in `folder`, with more lines behind it. */
export function stubMatrix(folder: string, more: readonly string[] = []): string {
  const path = join(folder, 'stub.yaml');
  writeFileSync(join(folder, 'model.onnx'), toBytes(model(17, ...valueInfo(11, 'input', ['batch', 3]))));
  const lines = [
    'models:',
    '  small:',
    '    shapes: {input: [batch, 3]}',
    '    precisions: {fp16: {onnx: model.onnx}}',
    'axes: {precision: fp16, batch: [1, 8]}',
    'build: {opt: {batch: 8}}',
    ...more,
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}
