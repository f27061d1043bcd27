import { BenchError } from '../../src/errors.ts';
import { loadMatrix, type Matrix } from '../../src/matrix/load.ts';

/** Loads a matrix from texts by file name, without any disk. */
export function matrixFrom(
  files: Readonly<Record<string, string>> | string,
  hashes: ReadonlyMap<string, { sha256: string; bytes: number }> = new Map(),
): Matrix {
  const texts = typeof files === 'string' ? { 'm.yaml': files } : files;
  return loadMatrix('m.yaml', {
    cwd: process.cwd(),
    readText: (path) => texts[path] ?? null,
    hashFiles: () => hashes,
    readInputs: () => null,
  });
}

/** Every mistake of a matrix, as it is printed. */
export function mistakesIn(files: Readonly<Record<string, string>> | string): readonly string[] {
  try {
    matrixFrom(files);
  } catch (error) {
    if (error instanceof BenchError) return error.lines;
    throw error;
  }
  return [];
}

/** A model with one dynamic input, and what follows on the lines after it. */
export function oneModel(...rest: readonly string[]): string {
  return [
    'models:',
    '  vit:',
    '    onnx: vit.onnx',
    '    shapes: {input: [batch, 3, 224, 224]}',
    '    precisions: {fp16: onnx, fp8: onnx}',
    ...rest,
  ].join('\n');
}
