import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { EnvironmentLackingError, errorText } from '../errors.ts';
import { printable } from '../text/printable.ts';

/**
 * Runs a function with a temporary folder that is removed afterwards.
 * @param kind part of its name
 * @throws EnvironmentLackingError if nothing can be written there
 */
export async function inTemporaryFolder<Result>(
  kind: 'accuracy' | 'notify' | 'nsys' | 'reduce' | 'work' | 'worker',
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), `bench-${kind}-`)).catch((error: unknown) => {
    const problem = `the temporary folder cannot be used (${errorText(error)})`;
    throw new EnvironmentLackingError(
      `${printable(tmpdir())}: ${problem}: make room there, or set TMPDIR to another folder`,
      { cause: error },
    );
  });
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
