import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, sep } from 'node:path';

import type { FoundExternalFile, OnnxExternalFile, OnnxFacts, OnnxTensorInfo } from './facts.ts';
import { readModel } from './model.ts';
import { type ByteSource, OnnxFormatError } from './wire-reader.ts';

/**
 * Facts about an ONNX file. Skips weights and only checks that external data files exist: any model takes milliseconds
 * and a few megabytes.
 * @throws OnnxFormatError if it is not an ONNX model; the system's error if it cannot be read
 */
export async function readOnnxFacts(path: string): Promise<OnnxFacts> {
  const { fileBytes, ...model } = withSource(path, (source) => ({ ...readModel(source), fileBytes: source.size }));
  const externalFiles: FoundExternalFile[] = [];
  for (const stated of model.externalFiles) externalFiles.push(await find(dirname(path), stated));
  return { ...model, fileBytes, externalFiles };
}

/** The inputs of a model; null where there is no model that can be read. */
export function onnxInputs(path: string): readonly OnnxTensorInfo[] | null {
  try {
    return withSource(path, readModel).inputs;
  } catch {
    return null;
  }
}

function withSource<Result>(path: string, read: (source: ByteSource) => Result): Result {
  const status = statSync(path);
  if (status.isDirectory()) throw new OnnxFormatError('a folder, not a file');
  // Opening a pipe without a writer would block forever.
  if (!status.isFile()) throw new OnnxFormatError('no regular file');
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const buffer = { bytes: Buffer.alloc(0) };
    return read({
      size,
      read: (at, bytes) => {
        const wanted = Math.max(0, Math.min(bytes, size - at));
        if (buffer.bytes.length < wanted) buffer.bytes = Buffer.allocUnsafe(wanted);
        let filled = 0;
        while (filled < wanted) {
          const count = readSync(file, buffer.bytes, filled, wanted - filled, at + filled);
          if (count === 0) break;
          filled += count;
        }
        return buffer.bytes.subarray(0, filled);
      },
    });
  } finally {
    closeSync(file);
  }
}

async function find(folder: string, stated: OnnxExternalFile): Promise<FoundExternalFile> {
  const { location, neededBytes } = stated;
  if (location === '') return { ...stated, bytes: null, problem: 'the model does not name it' };
  const inside = normalize(location);
  // Paths outside the model's folder are invalid in ONNX, and rejected by its checker.
  if (isAbsolute(inside) || inside === '..' || inside.startsWith(`..${sep}`) || inside.includes('\0')) {
    return { ...stated, bytes: null, problem: "outside of the model's folder" };
  }
  try {
    const status = await stat(join(folder, inside));
    if (!status.isFile()) return { ...stated, bytes: null, problem: 'no regular file' };
    const { size: bytes } = status;
    const problem = bytes < neededBytes ? `has ${bytes} bytes of ${neededBytes}: it is cut off` : null;
    return { ...stated, bytes, problem };
  } catch {
    return { ...stated, bytes: null, problem: 'no such file' };
  }
}
