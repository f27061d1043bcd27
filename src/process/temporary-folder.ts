import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';

import { EnvironmentLackingError, errorText } from '../errors.ts';
import { printable } from '../text/printable.ts';

/**
 * Runs a function with a temporary folder that is removed afterwards.
 * @param kind part of its name
 * @throws EnvironmentLackingError if nothing can be written there
 */
export async function inTemporaryFolder<Result>(
  kind: 'accuracy' | 'notify' | 'nsys' | 'reduce' | 'run' | 'work' | 'worker',
  work: (folder: string) => Promise<Result>,
  parent = tmpdir(),
): Promise<Result> {
  const folder = await mkdtemp(resolve(parent, `bench-${kind}-`)).catch((error: unknown) => {
    const problem = `the temporary folder cannot be used (${errorText(error)})`;
    throw new EnvironmentLackingError(
      `${printable(parent)}: ${problem}: make room there, or set TMPDIR to another folder`,
      { cause: error },
    );
  });
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
