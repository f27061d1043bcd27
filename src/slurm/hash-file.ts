import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

const BUFFER_BYTES = 1 << 20;

/**
 * Hash and size of an open file, as its bytes lie there.
 * @param size what `stat` says that it has: its end need not be looked for
 */
export async function hashFile(
  file: FileHandle,
  size: number,
): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(size, BUFFER_BYTES)));
  let bytes = 0;
  while (bytes < size) {
    const { bytesRead } = await file.read(buffer);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
  }
  return { sha256: hash.digest('hex'), bytes };
}
