import { accessSync, chmodSync, constants, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

import { EnvironmentLackingError, errorText } from '../errors.ts';
import { printable } from '../text/printable.ts';
import type { EnvironmentVariables } from './environment-variables.ts';
import { orNull } from './process-identity.ts';

/** Folder of locks across processes, users and stores: `$BENCH_LOCK_DIR`, else one per machine. */
export function lockFolder(env: EnvironmentVariables): string {
  return env['BENCH_LOCK_DIR'] || join(tmpdir(), 'trtbench-locks');
}

/** Sticky: every user may add a lock, but may remove only their own. */
const SHARED_MODE = 0o1777;

/** @throws EnvironmentLackingError if the folder cannot be created or written */
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
  orNull(() => chmodSync(folder, SHARED_MODE));
  return folder;
}

/** `mkdirSync` with `recursive` never returns if the kernel forbids folders, as in /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have made it in the meantime.
    if (!existsSync(folder)) throw error;
  }
}

const CLOCK_RECORD = /^clocks-(.+)\.json$/;

export function clockRecordName(gpuUuid: string): string {
  return `clocks-${gpuUuid}.json`;
}

/** Names of records of locked clocks. Every command reads them, so this must be fast. */
export function clockRecordNames(env: EnvironmentVariables): string[] {
  return (orNull(() => readdirSync(lockFolder(env))) ?? []).filter((name) => CLOCK_RECORD.test(name));
}
