import { copyFileSync, existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { bench, benchProcess, finished, startBench, temporaryFolder } from '../support/bench.ts';
import { queryStore } from '../support/store-dump.ts';
import { CAN_MOUNT, onSmallDisk, rowsOf, storeOfNights } from '../support/stores.ts';

test('SIGKILL at any moment of a merge leaves all of it or nothing, and again brings it', async () => {
  const [one, two] = [storeOfNights(20), storeOfNights(30, 20)];
  const whole = join(temporaryFolder(), 'bench.sqlite');
  const started = Date.now();
  await benchProcess(['db', 'merge', one, two, '--db', whole]);
  let mergeMs = Date.now() - started;
  const expected = rowsOf(whole);
  for (let kills = 0; kills < 2;) {
    const into = join(temporaryFolder(), 'bench.sqlite');
    copyFileSync(one, into);
    const child = startBench(['db', 'merge', two, '--db', into]);
    const ended = finished(child);
    await sleep((mergeMs * (kills + 1)) / 3);
    child.kill('SIGKILL');
    if ((await ended).signal !== 'SIGKILL') {
      // It was at its end already: the machine is less busy than when the time was taken.
      mergeMs *= 0.9;
      continue;
    }
    kills += 1;
    expect(queryStore(into, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    const sweeps = queryStore<{ runs: number }>(into, 'SELECT count(*) AS runs FROM runs GROUP BY sweep_id');
    expect([20, 50]).toContain(sweeps.length);
    expect(new Set(sweeps.map(({ runs }) => runs))).toEqual(new Set([100]));
    const again = await bench(['db', 'merge', two, '--db', into]);
    expect([again.code, rowsOf(into)]).toEqual([0, expected]);
  }
}, 240_000);

test('SIGKILL while artefacts are copied leaves whole folders, and again brings the rest', async () => {
  const one = join(temporaryFolder(), 'bench.sqlite');
  await bench(['run', 'matrices/quickstart.yaml', '--db', one]);
  const folders = (db: string): string[] => {
    const folder = join(dirname(db), 'artefacts');
    const names = existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : [];
    return names.filter((name) => !/\.tmp-\d+|\.lock$/.test(name)).toSorted();
  };
  const into = join(temporaryFolder(), 'bench.sqlite');
  const child = startBench(['db', 'merge', one, '--db', into]);
  const ended = finished(child);
  while (folders(into).length === 0 && child.exitCode === null) await sleep(1);
  child.kill('SIGKILL');
  await ended;
  expect((await bench(['db', 'merge', one, '--db', into])).code).toBe(0);
  expect(folders(into)).toEqual(folders(one));
  expect((await bench(['db', 'verify', '--db', into])).code).toBe(0);
}, 60_000);

describe.skipIf(!CAN_MOUNT)('a full disk', () => {
  test('ends a merge and a backup in one line; nothing is lost, and with room it goes on', async () => {
    const [one, two] = [storeOfNights(20), storeOfNights(20, 20)];
    const { stdout, stderr } = await onSmallDisk(
      // Room for the store and a little more.
      `${Math.ceil(statSync(one).size / 1024) + 450}k`,
      `cp "$1" "$DISK/bench.sqlite"
       bench db merge "$2" --db "$DISK/bench.sqlite"
       bench db verify --db "$DISK/bench.sqlite"
       bench db backup --db "$DISK/bench.sqlite"
       ls -A "$DISK"
       mount -o remount,size=30m "$DISK"
       bench db merge "$2" --db "$DISK/bench.sqlite"
       bench db verify --db "$DISK/bench.sqlite"`,
      [one, two],
    );
    expect(stderr.split('\n')).toEqual([
      'bench: the store cannot grow: the disk is full',
      expect.stringMatching(/^bench: .*\.backup\.sqlite: cannot be written: the disk is full; the store is as it was$/),
      '',
    ]);
    expect(stdout.split('\n')).toEqual([
      'code 3',
      'no damage: 20 sweeps, 2000 runs',
      'code 0',
      'code 3',
      'bench.sqlite',
      expect.stringMatching(/20 sweeps, 2000 runs came$/),
      'code 0',
      'no damage: 40 sweeps, 4000 runs',
      'code 0',
      '',
    ]);
  }, 30_000);
});
