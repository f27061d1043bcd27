import { accessSync, chmodSync, constants, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

import { EnvironmentLackingError, errorText } from '../errors.ts';
import { printable } from '../text/printable.ts';
import type { EnvironmentVariables } from './environment-variables.ts';

/** Where locks are kept that hold across processes, users and stores: `$BENCH_LOCK_DIR`, else one for the machine. */
export function lockFolder(env: EnvironmentVariables): string {
  return env['BENCH_LOCK_DIR'] || join(tmpdir(), 'trtbench-locks');
}

/** Everybody may put a lock there, and take away only his own. */
const SHARED_MODE = 0o1777;

/** @throws EnvironmentLackingError when there is none and it cannot be made, or nothing can be written there */
export function makeLockFolder(env: EnvironmentVariables): string {
  const folder = resolve(lockFolder(env));
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new EnvironmentLackingError(
      `${printable(folder)}: locks cannot be kept there (${errorText(error)}): set BENCH_LOCK_DIR to a folder that may be written`,
      { cause: error },
    );
  }
  try {
    chmodSync(folder, SHARED_MODE);
  } catch {
    // Somebody else made it.
  }
  return folder;
}

/** `mkdirSync` with `recursive` does not end where the kernel lets nobody make folders, as in /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another bench was faster.
    if (!existsSync(folder)) throw error;
  }
}

const CLOCK_RECORD = /^clocks-(.+)\.json$/;

export function clockRecordName(gpuUuid: string): string {
  return `clocks-${gpuUuid}.json`;
}

/** Files that say that somebody locked clocks. Every command looks, so this must cost next to nothing. */
export function clockRecordNames(env: EnvironmentVariables): string[] {
  try {
    return readdirSync(lockFolder(env)).filter((name) => CLOCK_RECORD.test(name));
  } catch {
    return [];
  }
}
