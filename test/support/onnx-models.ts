import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { ByteSource } from '../../src/tools/onnx/wire-reader.ts';
import { ROOT } from './bench.ts';

export const ONNX_MODELS = join(ROOT, 'test', 'fixtures', 'onnx');

export function onnxFixture(name: string): Uint8Array {
  return readFileSync(join(ONNX_MODELS, name));
}

/** A file in memory that counts what is read of it. */
export function sourceOf(bytes: Uint8Array): ByteSource & { readonly bytesRead: () => number } {
  let read = 0;
  return {
    size: bytes.length,
    read: (at, wanted) => {
      const part = bytes.slice(at, at + wanted);
      read += part.length;
      return part;
    },
    bytesRead: () => read,
  };
}
