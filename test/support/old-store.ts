import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { openStore } from '../../src/store/file/open.ts';
import { ROOT, temporaryFolder } from './bench.ts';
import { change } from './store-dump.ts';

export const MIGRATIONS = join(ROOT, 'migrations');
const { entries } = JSON.parse(readFileSync(join(MIGRATIONS, 'meta', '_journal.json'), 'utf8'));
/** Of all migrations, the oldest first. */
export const TAGS: string[] = entries.map(({ tag }: { tag: string }) => tag);

/** The folder of migrations of an older bench, which had so many. */
export function migrationsOf(migrations: number, folder = temporaryFolder()): string {
  const then = join(folder, 'migrations');
  mkdirSync(join(then, 'meta'), { recursive: true });
  const journal = { version: '7', dialect: 'sqlite', entries: entries.slice(0, migrations) };
  writeFileSync(join(then, 'meta', '_journal.json'), JSON.stringify(journal));
  for (const tag of TAGS.slice(0, migrations)) {
    copyFileSync(join(MIGRATIONS, `${tag}.sql`), join(then, `${tag}.sql`));
  }
  return then;
}

/** A store as the bench of that time left it: with only the first migrations, a sweep and a run. */
export function oldStore(migrations: number): string {
  const folder = temporaryFolder();
  const then = migrationsOf(migrations, folder);
  const path = join(folder, 'store', 'bench.sqlite');
  mkdirSync(dirname(path));
  openStore(path, then).close();
  change(
    path,
    `
    INSERT INTO sweeps (sweep_id, source, provenance, state, tool_version, started_at)
      VALUES ('${'a'.repeat(32)}', 'run', 'measured', 'finished', '0.1.0', '2026-01-01T00:00:00.000Z');
    INSERT INTO environments (environment_id, gpu_name) VALUES ('${'e'.repeat(32)}', 'NVIDIA H200');
    INSERT INTO invocations (invocation_id, argv, env, banner) VALUES ('${'c'.repeat(32)}', '[]', '{}', '{}');
    INSERT INTO runs (run_id, sweep_id, role, repeat, provenance, environment_id, outcome, timed_out, cancelled,
                      invocation_id, notes)
      VALUES ('${'b'.repeat(32)}', '${'a'.repeat(32)}', 'timed', 1, 'measured', '${'e'.repeat(32)}', 'measured', 0, 0, '${'c'.repeat(32)}', '[]')`,
  );
  return path;
}
