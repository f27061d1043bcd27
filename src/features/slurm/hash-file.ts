import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

const BUFFER_BYTES = 1 << 20;
const SMALL_BYTES = 1 << 16;

/**
 * Hash and size of an open file, as its bytes lie there.
 * @param size what `stat` says that it has: its end need not be looked for
 */
export async function hashFile(
  file: FileHandle,
  size: number,
): Promise<{ sha256: string; bytes: number; content: Buffer | null }> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(size, BUFFER_BYTES)));
  let bytes = 0;
  /** The whole of a small file. */
  let content: Buffer | null = size === 0 ? Buffer.alloc(0) : null;
  while (bytes < size) {
    const { bytesRead } = await file.read(buffer);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
    if (bytesRead === size && size <= SMALL_BYTES) content = buffer;
  }
  return { sha256: hash.digest('hex'), bytes, content };
}
