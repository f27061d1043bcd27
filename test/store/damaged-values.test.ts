import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';

import { check } from '../../src/features/check/check.ts';
import { compare } from '../../src/features/compare/compare.ts';
import { verify } from '../../src/features/db/verify.ts';
import { explain } from '../../src/cli/execute.ts';
import type { Io } from '../../src/cli/io.ts';
import { noise } from '../../src/features/noise/noise.ts';
import { report } from '../../src/features/report/report.ts';
import { show } from '../../src/features/show/show.ts';
import { trend } from '../../src/features/trend/trend.ts';
import type { ExitCode } from '../../src/exit-codes.ts';
import { DEFAULT_FAIL_ON } from '../../src/cli/fail-on.ts';
import { migrationsFolder } from '../../src/cli/store-location.ts';
import { usingStore } from '../../src/cli/with-store.ts';
import { openStore } from '../../src/store/file/open.ts';
import { bench, sharedFolder, temporaryFolder } from '../support/bench.ts';
import { testIo } from '../support/io.ts';
import { FIXTURES } from '../support/recordings.ts';
import { simulatedCells, simulateNights, sweepOfNight } from '../support/simulated-store.ts';

const [BASE, HEAD] = [sweepOfNight(2), sweepOfNight(9)];

const COMMANDS: Readonly<Record<string, (db: string, io: Io) => Promise<ExitCode>>> = {
  check: (db, io) => check([], { db, failOn: DEFAULT_FAIL_ON }, io),
  compare: (db, io) => compare(BASE, HEAD, { db, failOn: DEFAULT_FAIL_ON }, io),
  trend: (db, io) => trend([], { db, last: 20, height: 6 }, io),
  show: (db, io) => show('latest', { db }, io),
  noise: (db, io) => noise([], { db, last: 20 }, io),
  report: (db, io) => report(BASE, HEAD, { db, md: true, failOn: DEFAULT_FAIL_ON }, io),
};

let whole: string;
beforeAll(() => {
  whole = join(sharedFolder(), 'bench.sqlite');
  const value = (cell: number, night: number, repeat: number): number => 1 + cell + ((night * 7 + repeat) % 5) / 1000;
  simulateNights(whole, { cells: simulatedCells(3), nights: 10, repeats: 3, value });
});

/** As a plain SQLite does it; with checksums that fit, as from a program that is not bench. */
function changed(sql: string, isForeign: boolean): string {
  const path = join(temporaryFolder(), 'bench.sqlite');
  copyFileSync(whole, path);
  const client = new Database(path);
  client.pragma('foreign_keys = OFF');
  expect(client.prepare(sql).run().changes).toBeGreaterThan(0);
  // All checksums are made anew when it is opened.
  if (isForeign) client.pragma('user_version = 0');
  client.close();
  return path;
}

async function answer(
  command: (io: Io) => Promise<ExitCode>,
): Promise<{ code: ExitCode; stdout: string; stderr: string }> {
  let [stdout, stderr] = ['', ''];
  const io: Io = {
    ...testIo(),
    cwd: temporaryFolder(),
    out: (text) => (stdout += text),
    err: (text) => (stderr += text),
  };
  try {
    return { code: await command(io), stdout, stderr };
  } catch (error) {
    const code = explain(error, io);
    return { code, stdout, stderr };
  }
}

const BLOB = `x'00ff41'`;
const CHANGES = [
  `UPDATE cells SET model = ${BLOB}`,
  `UPDATE cells SET precision = ${BLOB}`,
  `UPDATE cells SET shapes = ''`,
  `UPDATE cells SET shapes = '[1]'`,
  `UPDATE cells SET shapes = ${BLOB}`,
  `UPDATE cells SET inputs = '{'`,
  `UPDATE cells SET axis_flags = '['`,
  `UPDATE cells SET harness = 'text'`,
  `UPDATE cells SET harness = '5'`,
  `UPDATE cells SET streams = 'text'`,
  `UPDATE sweeps SET name = ${BLOB}, matrix = ${BLOB}`,
  `UPDATE sweeps SET started_at = ${BLOB}`,
  `UPDATE sweeps SET git_commit = ${BLOB}`,
  `UPDATE sweeps SET git_branch = ${BLOB}`,
  `UPDATE sweeps SET plan = '[['`,
  `UPDATE sweeps SET host = ${BLOB}, tool_version = ${BLOB}`,
  `UPDATE runs SET notes = '{}}'`,
  `UPDATE runs SET outcome = ${BLOB}`,
  `UPDATE runs SET started_at = ${BLOB}`,
  `UPDATE environments SET gpu_name = ${BLOB}, driver = ${BLOB}`,
  `UPDATE time_statistics SET median_ms = 'text'`,
  `UPDATE measurements SET throughput_qps = ${BLOB}`,
];

describe('values of another type, or texts that are no JSON', () => {
  test.each(CHANGES)('%s', { timeout: 60_000 }, async (sql) => {
    const path = changed(sql, true);
    for (const [name, command] of Object.entries(COMMANDS)) {
      const { code, stderr } = await answer((io) => command(path, io));
      expect([name, code, stderr]).toEqual([name, expect.toBeOneOf([0, 1, 2, 4]), stderr]);
      expect(stderr).not.toMatch(/defect|\n\s+at /);
    }
    const { code, stdout } = await answer((io) => verify({ db: path, json: true }, io));
    const found: { kind: string }[] = JSON.parse(stdout).found;
    expect(found.some(({ kind }) => kind === 'row')).toBe(true);
    expect(code).toBe(4);
  });

  test.each([true, false])('are named by the command that they stop', async (isForeign) => {
    const path = changed(`UPDATE sweeps SET matrix = ${BLOB}`, isForeign);
    expect(await answer((io) => noise([], { db: path, last: 20 }, io))).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'bench: the store is damaged: sweeps.matrix: 10 values are not of type TEXT; `bench db verify` says more of it\n',
    });
  });

  test.each([
    `UPDATE cells SET shapes = ''`,
    `UPDATE cells SET inputs = '{'`,
    `UPDATE runs SET notes = '{}}'`,
    `UPDATE sweeps SET plan = '[['`,
    `UPDATE sweeps SET name = ${BLOB}, matrix = ${BLOB}, started_at = ${BLOB}`,
    `UPDATE runs SET repeat = ${BLOB}, started_at = ${BLOB}`,
  ])('stop a command that writes with a line at most: %s', { timeout: 60_000 }, async (sql) => {
    const path = changed(sql, true);
    const other = join(temporaryFolder(), 'other.sqlite');
    copyFileSync(whole, other);
    for (const args of [
      ['import', join(FIXTURES, 'formats', 'default-run'), '--model', 'm'],
      ['db', 'merge', other],
      ['run', 'matrices/quickstart.yaml', '--repeats', '1', '--filter', 'batch=1'],
    ]) {
      const { code, stderr } = await bench([...args, '--db', path]);
      expect([args[0], code, stderr]).toEqual([args[0], expect.toBeOneOf([0, 1, 2, 4]), stderr]);
      expect(stderr).not.toMatch(/defect|\n\s+at /);
    }
  });

  test('what a command that writes throws over them names them; anything else stays as it is', async () => {
    const problem = new TypeError('values.map is not a function');
    const stop = (): never => {
      throw problem;
    };
    for (const [sql, expected] of [
      [`UPDATE sweeps SET matrix = ${BLOB}`, 'the store is damaged: sweeps.matrix: 10 values'],
      [`UPDATE sweeps SET matrix = 'm'`, problem.message],
    ] as const) {
      const store = openStore(changed(sql, true), migrationsFolder());
      await expect(usingStore(store, stop, testIo())).rejects.toThrow(expected);
    }
  });

  test('are not made up for a whole store', async () => {
    const { code, stdout } = await answer((io) => verify({ db: whole, json: true }, io));
    expect([code, JSON.parse(stdout).found]).toEqual([0, []]);
  });
});
