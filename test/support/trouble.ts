import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { model, toBytes, valueInfo } from './onnx-writer.ts';

/** A trtexec that gets into trouble on demand. */
export const TROUBLED = join(import.meta.dirname, 'trouble-trtexec.mjs');

export interface Trouble {
  /** Text in the command line. */
  readonly when: string;
  readonly does: string;
  /** How often; without it always. */
  readonly times?: number;
}

export function troubleEnv(
  folder: string,
  troubles: readonly Trouble[],
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { TROUBLE: JSON.stringify(troubles), TROUBLE_FOLDER: folder, ...more };
}

/** Of everything that was started beside trtexec itself. */
export function pidsIn(folder: string): number[] {
  const path = join(folder, 'pids');
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').map(Number) : [];
}

/** A matrix of one model with a cell for each batch. */
export function batchMatrix(
  folder: string,
  batches: readonly number[],
  more: readonly string[] = [],
  name = 'trouble.yaml',
) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'model.onnx'), toBytes(model(17, ...valueInfo(11, 'input', ['batch', 3]))));
  const path = join(folder, name);
  const lines = [
    'models:',
    '  small:',
    '    shapes: {input: [batch, 3]}',
    '    precisions: {fp16: {onnx: model.onnx}}',
    `axes: {precision: fp16, batch: [${batches.join(', ')}]}`,
    `build: {opt: {batch: ${Math.max(...batches)}}}`,
    ...more,
  ];
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}
