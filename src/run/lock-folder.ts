import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { EnvironmentVariables } from './environment-variables.ts';

/** Where locks are kept that hold across processes, users and stores: `$BENCH_LOCK_DIR`, else one for the machine. */
export function lockFolder(env: EnvironmentVariables): string {
  return env['BENCH_LOCK_DIR'] || join(tmpdir(), 'trtbench-locks');
}

/** Everybody may put a lock there, and take away only his own. */
const SHARED_MODE = 0o1777;

export function makeLockFolder(env: EnvironmentVariables): string {
  const folder = lockFolder(env);
  mkdirSync(folder, { recursive: true });
  try {
    chmodSync(folder, SHARED_MODE);
  } catch {
    // Somebody else made it.
  }
  return folder;
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
