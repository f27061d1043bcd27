import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';

import type { ByteSource } from '../../src/tools/onnx/wire-reader.ts';
import { ROOT } from './bench.ts';

export const ONNX_MODELS = join(ROOT, 'test', 'fixtures', 'onnx');

export const onnxFixture = (name: string): Uint8Array => readFileSync(join(ONNX_MODELS, name));

/** A network as torchvision has it, `resnet18` or `vit_base`: a graph whose weights have shapes and no values. */
export const onnxNetwork = (name: string): Uint8Array => brotliDecompressSync(onnxFixture(`networks/${name}.onnx.br`));

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
