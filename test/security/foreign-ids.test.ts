import * as fs from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';

import { writeAtomically } from '../../src/files/files.ts';
import { temporaryPath } from '../../src/files/layout.ts';
import { printable } from '../../src/text/printable.ts';
import { bench, sharedFolder, temporaryFolder, refusal } from '../support/bench.ts';
import { storeIn } from '../support/made-stores.ts';
import { FIXTURES } from '../support/recordings.ts';
import { queryStore, firstId } from '../support/store-dump.ts';

const { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } = fs;

const ID = 'a'.repeat(32);

/** A run folder with a real log, whose run.json says these things. */
function foreignRun(folder: string, manifest: object): void {
  cpSync(join(FIXTURES, 'formats', 'default-run'), folder, { recursive: true });
  rmSync(join(folder, 'run.json'), { force: true });
  writeFileSync(join(folder, 'run.json'), JSON.stringify({ schemaVersion: 1, ...manifest }));
}

/** Everything under a folder, but what is under `except`. */
function filesUnder(folder: string, except: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name !== except && !name.startsWith(`${except}/`))
    .toSorted();
}

test.each([
  ['runId', '../../../../victim/evil'],
  ['sweepId', '../../victim'],
  ['sweepId', `${ID}/`],
  ['runId', 'a\u0000b'],
])('ids of a foreign run.json: %s %j becomes no path, and that is said', async (field, value) => {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, 'victim'));
  mkdirSync(join(cwd, 'store'));
  foreignRun(join(cwd, 'evil'), { [field]: value });
  const before = filesUnder(cwd, 'store');
  const { code, stderr } = await bench(['import', 'evil', '--db', 'store/bench.sqlite'], { cwd });
  expect(code).toBe(0);
  expect(stderr).toMatch(new RegExp(`^note: .*evil: run.json was not understood: ${field}: is not an id.*\\n$`));
  expect(filesUnder(cwd, 'store')).toEqual(before);
  for (const { folder } of queryStore<{ folder: string }>(
    join(cwd, 'store', 'bench.sqlite'),
    'SELECT artefact_folder AS folder FROM runs',
  )) {
    expect(folder).toMatch(/^[0-9a-f]{32}\/[0-9a-f]{32}$/);
  }
});

describe('beside a sweep that was measured here', () => {
  let made = '';
  beforeAll(async () => {
    made = sharedFolder();
    await storeIn(made, 'pair');
  });

  function store(): { cwd: string; sweepId: string; sweepFolder: string } {
    const cwd = temporaryFolder();
    cpSync(made, cwd, { recursive: true });
    const sweepId = firstId(join(cwd, 'bench.sqlite'), 'SELECT sweep_id AS id FROM sweeps');
    return { cwd, sweepId, sweepFolder: join(cwd, 'artefacts', sweepId) };
  }

  test('a foreign run that goes by its id is refused, and its sweep.json stays', async () => {
    const { cwd, sweepId, sweepFolder } = store();
    const before = readFileSync(join(sweepFolder, 'sweep.json'), 'utf8');
    foreignRun(join(cwd, 'evil'), { sweepId, runId: ID });
    const alone = await bench(['import', 'evil', '--db', 'bench.sqlite'], { cwd });
    expect(alone.code).toBe(2);
    expect(alone.stderr).toMatch(
      /^bench: .*evil has the id of sweep .{8}, which is already here, but not the same sweep\.json/,
    );
    expect(alone.stderr.split('\n')).toHaveLength(2);
    // With a manifest of its own, and also where the store itself is lost.
    mkdirSync(join(cwd, 'sweep'));
    foreignRun(join(cwd, 'sweep', ID), { sweepId, runId: ID });
    writeFileSync(join(cwd, 'sweep', 'sweep.json'), JSON.stringify({ ...JSON.parse(before), seed: 1, matrix: 'evil' }));
    for (const db of ['bench.sqlite', 'new.sqlite']) {
      const { code, stderr } = await bench(['import', 'sweep', '--db', db], { cwd });
      expect([code, stderr]).toEqual([2, expect.stringContaining('but not the same sweep.json')]);
    }
    expect(readFileSync(join(sweepFolder, 'sweep.json'), 'utf8')).toBe(before);
    expect(existsSync(join(sweepFolder, ID))).toBe(false);
    expect(queryStore(join(cwd, 'bench.sqlite'), `SELECT 1 FROM runs WHERE run_id = '${ID}'`)).toEqual([]);
  });

  test('a link in its place is neither written to nor pruned', async () => {
    const { cwd, sweepId, sweepFolder } = store();
    // Somebody's folder, that looks like one of runs.
    const mine = temporaryFolder();
    rmSync(sweepFolder, { recursive: true });
    for (const { id } of queryStore<{ id: string }>(join(cwd, 'bench.sqlite'), 'SELECT run_id AS id FROM runs')) {
      mkdirSync(join(mine, id));
      writeFileSync(join(mine, id, 'mine.txt'), 'mine');
    }
    symlinkSync(mine, sweepFolder);
    const db = new Database(join(cwd, 'bench.sqlite'));
    // Prune leaves the newest sweeps of a series alone.
    for (const n of [1, 2, 3]) {
      const names = db.prepare<[], string>(`SELECT name FROM pragma_table_info('sweeps')`).pluck().all();
      const own: Record<string, string> = { sweep_id: String(n).repeat(32), started_at: `2099-01-0${n}T00:00:00.000Z` };
      const values = names.map((name) => (own[name] === undefined ? name : `'${own[name]}'`));
      db.exec(`INSERT INTO sweeps (${names.join()}) SELECT ${values.join()} FROM sweeps WHERE sweep_id = '${sweepId}'`);
    }
    db.close();
    const before = filesUnder(mine, '');
    const { code, stderr } = await bench(['db', 'prune', '--keep-sweeps', '1', '--db', 'bench.sqlite'], { cwd });
    expect([code, stderr, filesUnder(mine, '')]).toEqual([2, expect.stringContaining('is a symbolic link'), before]);
    const runId = firstId(join(cwd, 'bench.sqlite'), 'SELECT run_id AS id FROM runs');
    const attached = await bench(['show', runId, '--attach', 'bench.sqlite'], { cwd });
    expect(attached).toEqual(refusal('is a symbolic link'));
    expect(filesUnder(mine, '')).toEqual(before);
  });

  const IDS =
    'sweeps.sweep_id runs.run_id environments.environment_id cells.cell_key builds.build_id builds.engine_key sweep_cells.engine_key attempts.run_id baselines.sweep_id findings.finding_id acknowledgements.finding_id accuracy.accuracy_id';

  test.each([
    ['runs', 'engine_key', '/etc/x'],
    ['runs', 'environment_id', '\u001b[2J'],
    ...IDS.split(' ').map((id) => [...id.split('.'), '../x']),
  ])('a store whose %s.%s is a path is not merged', async (table, column, value) => {
    const { cwd } = store();
    const db = new Database(join(cwd, 'bench.sqlite'));
    db.pragma('foreign_keys = OFF');
    const columns = db.prepare<[string], string>('SELECT name FROM pragma_table_info(?)').pluck().all(table);
    const values = columns.map((name) => (name === column ? '?' : /_(?:id|key)$/.test(name) ? `'${ID}'` : '0'));
    db.prepare(`INSERT INTO ${table} (${columns.join()}) VALUES (${values.join()})`).run(value);
    db.close();
    mkdirSync(join(cwd, 'mine'));
    const { code, stderr } = await bench(['db', 'merge', 'bench.sqlite', '--db', 'mine/bench.sqlite'], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(`${table}.${column} ${printable(value)}: is not an id; nothing was merged`);
    expect(existsSync(join(cwd, 'mine', 'artefacts'))).toBe(false);
  });

  test('links beside another store are not followed by a merge', async () => {
    const { cwd, sweepFolder } = store();
    const secrets = temporaryFolder();
    const runId = readdirSync(sweepFolder).find((name) => /^[0-9a-f]{32}$/.test(name)) ?? '';
    rmSync(join(sweepFolder, runId), { recursive: true });
    writeFileSync(join(secrets, 'id_rsa'), 'key');
    symlinkSync(secrets, join(sweepFolder, runId));
    mkdirSync(join(cwd, 'mine'));
    expect((await bench(['db', 'merge', 'bench.sqlite', '--db', 'mine/bench.sqlite'], { cwd })).code).toBe(0);
    const names = readdirSync(join(cwd, 'mine'), { recursive: true, encoding: 'utf8' });
    expect(names.filter((name) => name.endsWith('id_rsa'))).toEqual([]);
  });
});

test('links in an imported folder are named and not followed', async () => {
  const cwd = temporaryFolder();
  const outside = temporaryFolder();
  foreignRun(join(outside, 'run'), {});
  mkdirSync(join(cwd, 'nights'));
  foreignRun(join(cwd, 'nights', 'one'), {});
  writeFileSync(join(outside, 'times.json'), '[]');
  symlinkSync(join(outside, 'run'), join(cwd, 'nights', 'two'));
  symlinkSync(join(outside, 'times.json'), join(cwd, 'nights', 'one', 'more.json'));
  const stderr = 'note: 2 symbolic links not followed (nights/one/more.json, …): name what they lead to, to read it\n';
  const stdout = expect.stringContaining('1 run stored');
  expect(await bench(['import', 'nights'], { cwd })).toMatchObject({ code: 0, stderr, stdout });
});

test('a link under a name that can be foreseen is not written through', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'victim'), 'mine');
  const path = join(folder, 'sweep.json');
  const next = temporaryPath(path).replace(/\d+$/, (count) => String(Number(count) + 1));
  symlinkSync(join(folder, 'victim'), next);
  await expect(writeAtomically(path, 'theirs')).rejects.toMatchObject({ code: 'ELOOP' });
  expect(readFileSync(join(folder, 'victim'), 'utf8')).toBe('mine');
  expect(lstatSync(next).isSymbolicLink()).toBe(true);
});
