import { copyFileSync, existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';

import { bench, finished, sharedFolder, startBench, temporaryStore } from '../support/bench.ts';
import { storeIn } from '../support/made-stores.ts';
import { dumpStore, queryStore, resultsOf } from '../support/store-dump.ts';
import { batchMatrix, TROUBLED, troubleEnv } from '../support/trouble.ts';

const SWEEP = ['--trtexec', TROUBLED, '--seed', '5', '--no-telemetry', '--db'];

interface Night {
  readonly db: string;
  /** Does something to the store while trtexec is at the first of six runs, and lets it go on. */
  hurt(how: (db: string) => void): Promise<Awaited<ReturnType<typeof bench>>>;
}

/** Six runs of three cells. */
function night(): Night {
  const { folder, db } = temporaryStore();
  const matrix = batchMatrix(folder, [1, 2, 3], ['repeats: 2', 'profile: false']);
  const gate = join(folder, 'go-on');
  const env = { ...troubleEnv(folder, [{ when: '--loadEngine', does: 'waitsForFile', times: 1 }]), TROUBLE_GATE: gate };
  return {
    db,
    hurt: async (how) => {
      const ended = finished(startBench(['run', matrix, ...SWEEP, db], { env }));
      while (!existsSync(`${gate}.waits`)) await new Promise((resolve) => setTimeout(resolve, 20));
      how(db);
      writeFileSync(gate, '');
      return ended;
    },
  };
}

/** The store of a night on which nothing happened, and a store of something else. */
let whole: string;
const other = join(sharedFolder(), 'bench.sqlite');
beforeAll(async () => {
  const folder = sharedFolder();
  const matrix = batchMatrix(folder, [1, 2, 3], ['repeats: 2', 'profile: false']);
  whole = join(folder, 'whole.sqlite');
  await bench(['run', matrix, ...SWEEP, whole]);
  await storeIn(dirname(other), 'pair');
}, 60_000);

async function expectBroughtBack({ db }: Night, store: string): Promise<void> {
  const imported = await bench(['import', join(db, '..', 'artefacts'), '--db', store]);
  expect([imported.code, imported.stderr]).toEqual([0, expect.any(String)]);
  expect(queryStore(store, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  const sweep = readdirSync(join(db, '..', 'artefacts')).find((name) => !name.startsWith('.'));
  const resumed = await bench(['run', '--resume', sweep?.slice(0, 8) ?? '', '--db', store]);
  expect([resumed.code, resumed.stderr]).toEqual([0, expect.stringContaining('resuming sweep')]);
  expect(resultsOf(store)).toEqual(resultsOf(whole));
}

describe('the store, while bench run works', () => {
  const line = (what: string, advice: string) =>
    expect.stringMatching(
      String.raw`bench: \S+bench\.sqlite: ${what} while bench wrote into it; no run is lost: ${advice}, then continue with \`bench run --resume \w{8}\`\n$`,
    );
  const AGAIN = String.raw`restore them with \`bench import \S+artefacts\``;

  test('is deleted', async () => {
    const it = night();
    const { code, stderr } = await it.hurt((db) => rmSync(db));
    expect([code, stderr, existsSync(`${it.db}-wal`)]).toEqual([3, line('was deleted', AGAIN), false]);
    await expectBroughtBack(it, it.db);
  }, 120_000);

  test('is deleted with the artefacts: nothing is promised', async () => {
    const { code, stderr } = await night().hurt((db) => {
      rmSync(db);
      const artefacts = join(db, '..', 'artefacts');
      for (const path of readdirSync(artefacts, { recursive: true, encoding: 'utf8' })) {
        if (path.endsWith('.json') && !path.includes('.attempt-')) rmSync(join(artefacts, path));
      }
    });
    expect(code).toBe(3);
    expect(stderr).toContain('the artefacts of this sweep are gone, too');
    expect(stderr).not.toContain('no run is lost');
  }, 120_000);

  test.each([
    ['replaced by another store', 'was replaced by another file', (db: string) => copyFileSync(other, `${db}.new`)],
    ['overwritten', 'was overwritten by something else', (db: string) => writeFileSync(db, 'x'.repeat(20_000))],
  ])(
    'is %s: that file is left as it is',
    async (_, what, how) => {
      const it = night();
      const { code, stderr } = await it.hurt((db) => {
        how(db);
        if (existsSync(`${db}.new`)) renameSync(`${db}.new`, db);
      });
      expect([code, stderr]).toEqual([3, line(what, `move that file away and ${AGAIN}`)]);
      if (what.startsWith('was replaced')) expect(dumpStore(it.db)).toEqual(dumpStore(other));
      for (const ending of ['', '-wal', '-shm']) {
        if (existsSync(it.db + ending)) renameSync(it.db + ending, `${it.db}.damaged${ending}`);
      }
      await expectBroughtBack(it, it.db);
    },
    120_000,
  );

  test('is written by others and packed anew: nothing is wrong with that', async () => {
    const it = night();
    const { code, stdout } = await it.hurt((db) => {
      const others = new Database(db, { timeout: 10_000 });
      others.exec('CREATE TABLE large (x); INSERT INTO large VALUES (zeroblob(1000000))');
      others.exec('DROP TABLE large; VACUUM');
      others.pragma('wal_checkpoint(TRUNCATE)');
      others.close();
    });
    expect([code, stdout]).toEqual([0, expect.stringContaining('6 runs + 1 engine')]);
    expect(queryStore(it.db, `SELECT 1 FROM runs WHERE role = 'timed'`)).toHaveLength(6);
  }, 120_000);
});
