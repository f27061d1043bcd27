import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

const BUFFER_BYTES = 1 << 20;

/** Hash and size of an open file, as its bytes lie there. */
export async function hashFile(file: FileHandle): Promise<{ sha256: string; bytes: number }> {
  const { size } = await file.stat();
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(size, BUFFER_BYTES)));
  let bytes = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer);
    if (bytesRead === 0) return { sha256: hash.digest('hex'), bytes };
    hash.update(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
  }
}
