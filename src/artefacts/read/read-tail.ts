import { open } from 'node:fs/promises';

/** No log of a conversion is longer, unless something is wrong with it. */
const MAX_BYTES = 8 << 20;

/** The end of a text file; empty when there is none. */
export async function readTail(path: string): Promise<string> {
  const file = await open(path).catch(() => null);
  if (file === null) return '';
  try {
    const { size } = await file.stat();
    const bytes = Math.min(size, MAX_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, size - bytes);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
