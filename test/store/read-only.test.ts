import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import type Database from 'better-sqlite3';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';

import { StoreAccessError } from '../../src/errors.ts';
import { openStore, openStoreToRead } from '../../src/store/file/open.ts';
import { bench, ROOT, temporaryFolder } from '../support/bench.ts';
import { sharedStore } from '../support/made-stores.ts';
import { MIGRATIONS, oldStore } from '../support/old-store.ts';
import { FIXTURES } from '../support/recordings.ts';
import { noDiskBecause, smallDisk } from '../support/small-disk.ts';

const MAY_NOT = (): boolean => false;

const sweepsIn = (store: { db: { $client: Database.Database } }): unknown =>
  store.db.$client.prepare('SELECT sweep_id FROM sweeps ORDER BY 1').pluck().all();

function addSweep(client: Database.Database, id: string): void {
  client
    .prepare(
      `INSERT INTO sweeps (sweep_id, source, provenance, state, tool_version) VALUES (?, 'run', 'measured', 'finished', '1')`,
    )
    .run(id);
}

function storeWith(...ids: string[]): string {
  const path = join(temporaryFolder(), 'bench.sqlite');
  const store = openStore(path, MIGRATIONS);
  for (const id of ids) addSweep(store.db.$client, id);
  store.close();
  return path;
}

/** Every file of the folder with its bytes. */
function filesBeside(path: string): unknown {
  const folder = join(path, '..');
  return readdirSync(folder).map((name) => [name, readFileSync(join(folder, name)).toString('base64')]);
}

function setTemporaryFolder(path: string): void {
  const { TMPDIR } = process.env;
  onTestFinished(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  });
  process.env['TMPDIR'] = path;
}

describe('a store that may not be written', () => {
  test('is read, refuses what writes, and nothing is left beside it', () => {
    const path = storeWith('a', 'b');
    const before = filesBeside(path);
    const store = openStoreToRead(path, MIGRATIONS, MAY_NOT);
    expect([store.isReadOnly, store.path, sweepsIn(store)]).toEqual([true, path, ['a', 'b']]);
    expect(() => addSweep(store.db.$client, 'c')).toThrow('readonly');
    expect(filesBeside(path)).toEqual(before);
    store.close();
    expect(filesBeside(path)).toEqual(before);
  });

  test('is read where it lies while somebody writes to it', () => {
    const path = storeWith('a');
    const writer = openStore(path, MIGRATIONS);
    addSweep(writer.db.$client, 'b');
    const names = readdirSync(join(path, '..'));
    const reader = openStoreToRead(path, MIGRATIONS, MAY_NOT);
    expect(sweepsIn(reader)).toEqual(['a', 'b']);
    addSweep(writer.db.$client, 'c');
    expect([sweepsIn(reader), readdirSync(join(path, '..'))]).toEqual([['a', 'b', 'c'], names]);
    reader.close();
    writer.close();
  });

  test('is read with what a killed process left in its WAL', () => {
    const path = storeWith('a');
    const writer = openStore(path, MIGRATIONS);
    addSweep(writer.db.$client, 'b');
    const killed = join(temporaryFolder(), 'bench.sqlite');
    for (const ending of ['', '-wal']) copyFileSync(path + ending, killed + ending);
    writer.close();
    const before = filesBeside(killed);
    const store = openStoreToRead(killed, MIGRATIONS, MAY_NOT);
    expect(sweepsIn(store)).toEqual(['a', 'b']);
    store.close();
    expect(filesBeside(killed)).toEqual(before);
  });

  test.each([1, 4])('is read when it is of an older bench: %i migrations', (migrations) => {
    const path = oldStore(migrations);
    const before = filesBeside(path);
    const store = openStoreToRead(path, MIGRATIONS, MAY_NOT);
    expect(sweepsIn(store)).toEqual(['a'.repeat(32)]);
    expect(store.db.$client.prepare('SELECT count(*) FROM attachments').pluck().get()).toBe(0);
    store.close();
    expect(filesBeside(path)).toEqual(before);
  });

  test('needs a temporary folder', () => {
    const path = storeWith('a');
    setTemporaryFolder('/nowhere/at/all');
    expect(() => openStoreToRead(path, MIGRATIONS, MAY_NOT)).toThrow(StoreAccessError);
    const pattern = /\/nowhere\/at\/all cannot hold one \(ENOENT\): set TMPDIR to a folder with free space$/;
    expect(() => openStoreToRead(path, MIGRATIONS, MAY_NOT)).toThrow(pattern);
  });
});

const BENCH = join(ROOT, 'bin', 'bench.js');
const NOBODY = ['--reuid=65534', '--regid=65534', '--clear-groups'];

/** Git tells another user nothing of a repository without this. */
const TRUSTED = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' };

/** What goes before a command so that permissions count; null where root cannot become anybody else. */
function asSomebodyElse(): readonly string[] | null {
  if (process.getuid?.() !== 0) return [process.execPath, BENCH];
  const args = [...NOBODY, process.execPath, BENCH];
  return spawnSync('setpriv', [...args, '--version']).status === 0 ? ['setpriv', ...args] : null;
}

const PREFIX = asSomebodyElse();

/** What only looks: its answer must be that of somebody who may write. */
const READING = [
  'ls sweeps',
  'compare',
  'check',
  'why batch=8',
  'report --html -',
  'ls engines',
  'db info',
  'db verify',
];

const WRITING = [
  'run matrices/quickstart-pair.yaml',
  `import ${join(FIXTURES, 'formats')}`,
  'baseline set v1',
  'db rejudge',
];

describe.skipIf(PREFIX === null)('as a user who may read it and nothing else', () => {
  let db: string;
  beforeAll(async () => {
    db = await sharedStore('pairs');
    chmodSync(join(db, '..'), 0o755);
  }, 60_000);

  /** The store in a folder, both of which this user may not write. */
  function readOnlyCopy(): string {
    const folder = join(temporaryFolder(), 'shared');
    mkdirSync(folder);
    chmodSync(join(folder, '..'), 0o755);
    const copy = join(folder, 'bench.sqlite');
    cpSync(db, copy);
    chmodSync(copy, 0o444);
    chmodSync(folder, 0o555);
    onTestFinished(() => chmodSync(folder, 0o755));
    return copy;
  }

  async function asOther(line: string, copy: string) {
    const [file = '', ...args] = [...(PREFIX ?? []), ...line.split(' '), '--db', copy];
    return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      const child = execFile(file, args, { cwd: ROOT, env: { ...process.env, ...TRUSTED } }, (_, stdout, stderr) => {
        resolve({ code: child.exitCode ?? -1, stdout, stderr });
      });
    });
  }

  test.each(READING)('bench %s', async (line) => {
    const copy = readOnlyCopy();
    const theirs = await asOther(line, copy);
    const own = await bench([...line.split(' '), '--db', db]);
    const same = (text: string): string => text.replaceAll(copy, 'DB').replaceAll(db, 'DB').replaceAll(' --db DB', '');
    expect(own.code).not.toBe(2);
    // Beside the copy lie no artefacts and no engines.
    const isBeside = ['ls engines', 'db info', 'db verify'].includes(line);
    expect(theirs.code).toBe(own.code);
    if (!isBeside) expect(same(theirs.stdout)).toBe(same(own.stdout));
    expect(same(theirs.stderr)).toBe(
      line.startsWith('check')
        ? `note: the store is read-only here: bench did not store this check\n${same(own.stderr)}`
        : same(own.stderr),
    );
    expect(readdirSync(join(copy, '..'))).toEqual(['bench.sqlite']);
  });

  test.each(WRITING)('bench %s is refused in one line, before anything is done', async (line) => {
    const copy = readOnlyCopy();
    const stderr = `bench: ${copy} is read-only: this command needs write access to the file and its folder; ask for it, or name another store with --db\n`;
    expect(await asOther(line, copy)).toEqual({ code: 3, stdout: '', stderr });
  });
});

function fill(disk: string): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, 'filler'), Buffer.alloc(bavail * bsize));
}

function fillInodes(disk: string): void {
  mkdirSync(join(disk, 'fillers'));
  while (statfsSync(disk).ffree > 0) writeFileSync(join(disk, 'fillers', String(statfsSync(disk).ffree)), '');
}

describe.skipIf(noDiskBecause() !== null)('a full disk ends nothing that only looks', { timeout: 120_000 }, () => {
  let folder: string;
  beforeAll(async () => {
    folder = join(await sharedStore('pairs'), '..');
  }, 60_000);

  test.each([
    ['room', null, fill],
    ['inodes', 1000, fillInodes],
  ])('without %s next to the store', async (_, inodes, fillUp) => {
    const { path } = smallDisk(16, inodes);
    cpSync(folder, path, { recursive: true });
    const db = join(path, 'bench.sqlite');
    const before = readFileSync(db);
    fillUp(path);
    for (const line of READING) {
      const args = line.split(' ');
      const own = await bench([...args, '--db', join(folder, 'bench.sqlite')]);
      const { code, stderr } = await bench([...args, '--db', db]);
      const full = /^note: the disk (?:is full|has no inodes left): bench did not store this check\n/;
      const said: unknown = line.startsWith('check') ? expect.stringMatching(full) : own.stderr;
      expect([line, code, stderr.replaceAll(path, folder)]).toEqual([line, own.code, said]);
    }
    expect(readFileSync(db)).toEqual(before);
  });
});
