import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { StoreError } from '../../../src/errors.ts';
import { openExistingStore, openStore } from '../../../src/store/file/open.ts';
import { ROOT, temporaryFolder } from '../../support/bench.ts';

const MIGRATIONS = join(ROOT, 'migrations');

describe('opening', () => {
  test('makes the file, in WAL, with foreign keys on', () => {
    const store = openStore(join(temporaryFolder(), 'bench.sqlite'), MIGRATIONS);
    const client = store.db.$client;
    expect(client.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(client.pragma('foreign_keys', { simple: true })).toBe(1);
    expect(client.pragma('synchronous', { simple: true })).toBe(2);
    expect(client.pragma('busy_timeout', { simple: true })).toBe(30_000);
    expect(() => client.exec(`INSERT INTO sweep_cells (sweep_id, cell_key, repeats) VALUES ('x', 'y', 1)`)).toThrow(
      'FOREIGN KEY',
    );
    store.close();
  });

  test.each([
    [
      'a file of something else',
      'not a store at all, but long enough to be looked at'.repeat(40),
      'is not a SQLite file',
    ],
    ['a file that begins like one', `SQLite format 3\0${'x'.repeat(4000)}`, 'is not a SQLite file'],
  ])('%s is refused and left as it is', (_, content, message) => {
    const path = join(temporaryFolder(), 'bench.sqlite');
    writeFileSync(path, content);
    expect(() => openStore(path, MIGRATIONS)).toThrow(StoreError);
    expect(() => openStore(path, MIGRATIONS)).toThrow(message);
    expect(readFileSync(path, 'utf8')).toBe(content);
  });

  test('a folder that is not there, and one that may not be written', () => {
    expect(() => openStore('/nowhere/at/all/bench.sqlite', MIGRATIONS)).toThrow('cannot be opened');
    expect(() => openExistingStore(join(temporaryFolder(), 'x.sqlite'), MIGRATIONS)).toThrow('no such store');
    if (process.getuid?.() === 0) return;
    const folder = temporaryFolder();
    chmodSync(folder, 0o500);
    expect(() => openStore(join(folder, 'bench.sqlite'), MIGRATIONS)).toThrow(StoreError);
  });
});
