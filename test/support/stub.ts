import { join } from 'node:path';

import { batchMatrix } from './trouble.ts';

/** A program that stands in for trtexec; every number of it is made up. */
export const STUB = join(import.meta.dirname, 'stub-trtexec.mjs');

/** A matrix of two cells of one engine in `folder`, with more lines behind it. */
export const stubMatrix = (folder: string, more: readonly string[] = []): string =>
  batchMatrix(folder, [1, 8], more, 'stub.yaml');
