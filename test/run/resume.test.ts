import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { bench, finished, startBench, temporaryFolder } from '../support/bench.ts';
import { untilGone, writtenPids } from '../support/processes.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

describe('Ctrl-C', () => {
  test('ends the running process with its children, keeps what is done, and says how to go on', async () => {
    const folder = temporaryFolder();
    const pids = join(folder, 'pids');
    const matrix = stubMatrix(folder, ['repeats: 2']);
    const db = join(folder, 'bench.sqlite');
    const hangs = JSON.stringify([{ when: '--shapes=input:8x3', does: 'stubborn' }]);
    const child = startBench(['run', matrix, '--trtexec', STUB, '--db', db, '--seed', '3'], {
      env: { STUB_RULES: hangs, STUB_PIDS: pids },
    });
    const ended = finished(child);
    const started = await writtenPids(pids);
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    expect(code).toBe(130);
    expect(stderr).toMatch(/interrupted; what was measured is stored: go on with `bench run --resume \w{8}`/);
    for (const pid of started) await untilGone(pid);
    expect(queryStore(db, 'SELECT state FROM sweeps')).toEqual([{ state: 'interrupted' }]);
    const resumed = await bench(['run', '--resume', '--db', db]);
    expect(resumed.code).toBe(0);
    expect(queryStore(db, `SELECT * FROM runs WHERE role = 'timed'`)).toHaveLength(4);
  }, 60_000);
});

test('two processes cannot measure the same sweep at once', async () => {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  const matrix = stubMatrix(folder, ['repeats: 4']);
  const journal = join(folder, 'journal');
  const first = startBench(['run', matrix, '--trtexec', STUB, '--db', db], {
    env: { STUB_DELAY_MS: '400', STUB_JOURNAL: journal },
  });
  const ended = finished(first);
  while (!existsSync(journal) || !readFileSync(journal, 'utf8').includes('--loadEngine')) await sleep(50);
  const other = await bench(['run', '--resume', '--db', db]);
  expect([other.code, other.stderr]).toEqual([0, expect.stringContaining('nothing to resume')]);
  const [sweep] = queryStore<{ sweep_id: string }>(db, 'SELECT sweep_id FROM sweeps');
  const named = await bench(['run', '--resume', sweep?.sweep_id.slice(0, 8) ?? '', '--db', db]);
  expect(named.code).toBe(2);
  expect(named.stderr).toContain('is being measured by process');
  expect((await ended).code).toBe(0);
}, 60_000);

test('--resume of a matrix that was never interrupted, and of one by its name', async () => {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  await bench(['run', 'matrices/quickstart-pair.yaml', '--db', db]);
  const { code, stderr } = await bench(['run', 'matrices/quickstart-pair.yaml', '--resume', '--db', db]);
  expect([code, stderr]).toEqual([0, 'nothing to resume: no sweep was interrupted\n']);
  const unknown = await bench(['run', '--resume', 'ffffffff', '--db', db]);
  expect([unknown.code, unknown.stderr]).toEqual([2, 'bench: no sweep ffffffff in this store\n']);
  writeFileSync(join(folder, 'empty.sqlite'), '');
  const none = await bench(['run', '--resume', '--db', join(folder, 'none.sqlite')]);
  expect(none.code).toBe(2);
  expect(none.stderr).toContain('no such store');
});

test.each(['SIGINT', 'SIGTERM'] as const)(
  'two of %s at once are one: it ends in order',
  async (signal) => {
    const folder = temporaryFolder();
    const db = join(folder, 'bench.sqlite');
    const journal = join(folder, 'journal');
    const matrix = stubMatrix(folder, ['repeats: 8']);
    const child = startBench(['run', matrix, '--trtexec', STUB, '--db', db], {
      env: { STUB_DELAY_MS: '2000', STUB_JOURNAL: journal },
    });
    const ended = finished(child);
    while (!existsSync(journal) || !readFileSync(journal, 'utf8').includes('--loadEngine')) await sleep(30);
    child.kill(signal);
    child.kill(signal);
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([130, expect.stringContaining('what was measured is stored')]);
    expect(queryStore(db, 'SELECT state FROM sweeps')).toEqual([{ state: 'interrupted' }]);
  },
  60_000,
);
