import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { packageFolder } from '../files/folders.ts';
import type { Io } from './io.ts';
import { isRecord } from '../text/unknown-values.ts';

export const STORE_NAME = 'bench.sqlite';

/**
 * Returns `--db`, else `$BENCH_DB`, else `bench.sqlite` in this folder or the nearest parent that has one, else
 * `bench.sqlite` in this folder.
 */
export function storePath(stated: string | undefined, io: Io): string {
  const named = stated ?? io.env['BENCH_DB'];
  if (named !== undefined && named !== '') return resolve(io.cwd, named);
  for (let folder = io.cwd; ; folder = dirname(folder)) {
    const candidate = join(folder, STORE_NAME);
    if (existsSync(candidate)) return candidate;
    if (dirname(folder) === folder) return join(io.cwd, STORE_NAME);
  }
}

export function migrationsFolder(): string {
  return join(packageFolder(), 'migrations');
}

export function toolVersion(): string {
  const parsed: unknown = JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8'));
  const version = isRecord(parsed) ? parsed['version'] : null;
  return typeof version === 'string' ? version : 'unknown';
}
