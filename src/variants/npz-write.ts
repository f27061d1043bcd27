import { open } from 'node:fs/promises';

import { zipped } from '../artefacts/zip.ts';
import { writeNpyHeader } from './npy.ts';

/** An array to write; its values are generated when needed. */
export interface ArrayToWrite {
  readonly name: string;
  readonly descr: string;
  readonly shape: readonly number[];
  /** Little-endian, in C order. */
  readonly values: () => Buffer;
}

/** One call writes at most about 2 GB. */
const MAX_WRITE_BYTES = 1 << 30;

/** @throws RangeError above 4 GB; writes a zip file as `numpy.savez` does, without compression */
export async function writeNpz(path: string, arrays: readonly ArrayToWrite[]): Promise<void> {
  const file = await open(path, 'w');
  try {
    const files = arrays.map(({ descr, name, shape, values }) => ({
      name: `${name}.npy`,
      pieces: () => [writeNpyHeader(descr, shape), values()],
    }));
    for (const bytes of zipped(files)) {
      for (let done = 0; done < bytes.length;) {
        done += (await file.write(bytes, done, Math.min(bytes.length - done, MAX_WRITE_BYTES))).bytesWritten;
      }
    }
    await file.sync();
  } finally {
    await file.close();
  }
}
