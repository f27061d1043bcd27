import { open } from 'node:fs/promises';

import { printable } from '../../text/printable.ts';

const TAIL_BYTES = 4096;
const TAIL_LINES = 3;

/** How a log ends; nothing where it cannot be read. */
export async function lastLines(path: string): Promise<string[]> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      const from = Math.max(0, size - TAIL_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, from);
      const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
      return lines
        .map((line) => printable(line.trimEnd()))
        .filter((line) => line !== '')
        .slice(-TAIL_LINES);
    } finally {
      await file.close();
    }
  } catch {
    return [];
  }
}
