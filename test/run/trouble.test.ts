import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { leftoversOf } from '../../benchmarks/kills/leftovers.ts';
// Troubles end the process that started them, and its parents.
import { lockHolder } from '../../src/process/lock.ts';
import { benchProcess as bench, finished, startBench, temporaryFolder, temporaryStore } from '../support/bench.ts';
import { untilGone } from '../support/processes.ts';
import { queryStore } from '../support/store-dump.ts';
import { batchMatrix, pidsIn, TROUBLED, troubleEnv } from '../support/trouble.ts';

const shape = (batch: number): string => `--shapes=input:${batch}x3`;

const OUTCOMES = `
  SELECT json_extract(shapes, '$.input[0]') AS batch, outcome, reason,
    (SELECT text FROM run_evidence WHERE run_evidence.run_id = runs.run_id ORDER BY position LIMIT 1) AS evidence
  FROM runs JOIN cells USING (cell_key) ORDER BY batch`;

const measured = { outcome: 'measured', reason: null, evidence: null };

/** A node that starts slowly on a busy machine must have printed by then. */
const FIRST_OUTPUT_S = 8;

test('a trtexec that hangs is ended by the limit of its part, with all that it started, and the next is run', async () => {
  const { folder, db } = temporaryStore();
  const limits = `{firstOutputS: ${FIRST_OUTPUT_S}, loadS: 3, timedPartS: 3, endS: 3}`;
  const matrix = batchMatrix(folder, [2, 3, 4], ['repeats: 1', `timeouts: ${limits}`]);
  const env = troubleEnv(folder, [
    { when: shape(2), does: 'silent' },
    { when: shape(3), does: 'hangsInTimedPart' },
    { when: shape(4), does: 'stops' },
  ]);
  expect(await bench(['run', matrix, '--trtexec', TROUBLED, '--db', db], { env })).toMatchObject({ code: 4 });
  const timeout = (evidence: string) => ({
    outcome: 'failed',
    reason: 'timeout',
    evidence: expect.stringContaining(evidence),
  });
  expect(queryStore(db, OUTCOMES)).toEqual([
    {
      batch: 2,
      ...timeout(`before its first output by the limit of ${FIRST_OUTPUT_S} s for this part; it had printed nothing`),
    },
    {
      batch: 3,
      ...timeout(
        'in warm-up or the timed part by the limit of 3 s for this part; its last line: [11/21/2026-07:33:53] [I] Starting inference',
      ),
    },
    { batch: 4, ...timeout('before its first inference by the limit of 3 s for this part; its last line: [11/21/') },
  ]);
  expect(pidsIn(folder)).toHaveLength(2);
  for (const pid of pidsIn(folder)) await untilGone(pid);
}, 240_000);

test('each other trouble gets its kind, no process is left, and the sweep goes on', async () => {
  const { folder, db } = temporaryStore();
  const matrix = batchMatrix(folder, [1, 5, 6, 7, 8, 9], ['repeats: 1']);
  const troubles = [
    { when: shape(5), does: 'leavesDaemon' },
    { when: shape(6), does: 'printsMuch' },
    { when: shape(7), does: 'diesHalfWay' },
    { when: shape(8), does: 'halfExport' },
    { when: 'hapes=', does: 'leavesFile' },
  ];
  const env = troubleEnv(folder, troubles, { TROUBLE_BYTES: String(120 << 20), TMPDIR: folder });
  const { code, stderr } = await bench(['run', matrix, '--trtexec', TROUBLED, '--db', db], { env });
  expect({ stderr, code }).toEqual({ stderr: expect.not.stringContaining('defect'), code: 4 });
  expect(queryStore(db, OUTCOMES)).toEqual([
    { batch: 1, ...measured },
    { batch: 5, ...measured },
    { batch: 6, ...measured },
    { batch: 7, outcome: 'failed', reason: 'killed', evidence: 'ended by SIGKILL' },
    { batch: 8, outcome: 'unfit', reason: 'exportMissing', evidence: expect.any(String) },
    { batch: 9, ...measured },
  ]);
  expect(pidsIn(folder)).toHaveLength(2);
  for (const pid of pidsIn(folder)) await untilGone(pid);
  const temporary = readFileSync(join(folder, 'temporary'), 'utf8').trim().split('\n');
  expect(temporary.filter((path) => dirname(path) !== folder || existsSync(path))).toEqual([]);
  expect(new Set(temporary).size).toBe(temporary.length);
  const [long] = queryStore<{ notes: string; bytes: number }>(
    db,
    `SELECT notes, bytes FROM runs JOIN cells USING (cell_key) JOIN artefacts USING (run_id)
     WHERE json_extract(shapes, '$.input[0]') = 6 AND artefacts.name = 'stdout.log'`,
  );
  expect(long?.notes).toMatch(/the log was too long: at least 5\d MiB of its middle were left out/);
  expect(long?.bytes).toBeGreaterThan(60 << 20);
  expect(long?.bytes).toBeLessThan(65 << 20);
}, 240_000);

test('a bench that dies with its locks taken: the next one takes them, and ends what it left running', async () => {
  const { folder, db } = temporaryStore();
  const locks = { BENCH_LOCK_DIR: join(folder, 'locks') };
  const matrix = batchMatrix(folder, [1, 2], ['repeats: 2', 'profile: false']);
  const env = { ...troubleEnv(folder, [{ when: shape(2), does: 'killsBench', times: 2 }]), ...locks };
  expect((await bench(['run', matrix, '--trtexec', TROUBLED, '--db', db], { env })).signal).toBe('SIGKILL');
  const again = await bench(['run', '--resume', '--db', db], { env });
  expect([again.signal, pidsIn(folder).length]).toEqual(['SIGKILL', 4]);
  const [sweep = { id: '' }] = queryStore<{ id: string }>(db, 'SELECT sweep_id AS id FROM sweeps');
  expect(await bench(['run', '--resume', '--db', db], { env: locks })).toMatchObject({ code: 0 });
  expect(leftoversOf(db, sweep.id)).toEqual([]);
  for (const pid of pidsIn(folder)) await untilGone(pid);
  expect(queryStore(db, `SELECT count(*) AS runs FROM runs WHERE role = 'timed'`)).toEqual([{ runs: 4 }]);
}, 120_000);

test('a bench that waits for the GPU of one that is killed does not measure beside what that had started', async () => {
  const locks = join(temporaryFolder(), 'locks');
  const [first, second] = [temporaryFolder(), temporaryFolder()];
  const gate = join(first, 'never');
  const runOf = (folder: string, does: string, more: Record<string, string>) => {
    const matrix = batchMatrix(folder, [1, 2], ['repeats: 2', 'profile: false']);
    const env = { ...troubleEnv(folder, [{ when: '--loadEngine', does }], more), BENCH_LOCK_DIR: locks };
    const args = ['run', matrix, '--trtexec', TROUBLED, '--no-telemetry', '--db', join(folder, 'x.sqlite')];
    return startBench(args, { env });
  };
  const killed = runOf(first, 'waitsForFile', { TROUBLE_GATE: gate });
  const gone = finished(killed);
  while (!existsSync(`${gate}.waits`)) await sleep(20);
  const waiting = runOf(second, 'looksBeside', { TROUBLE_BESIDE: readFileSync(`${gate}.waits`, 'utf8') });
  const ended = finished(waiting);
  await new Promise<void>((resolve) => {
    waiting.stderr?.on('data', (text: Buffer) => {
      if (text.toString().includes('is in use by process')) resolve();
    });
  });
  killed.kill('SIGKILL');
  await gone;
  // What is left may be ended by any bench of this user, also by one of another test: who says so is left open.
  const { code, stderr } = await ended;
  expect(readFileSync(join(second, 'beside'), 'utf8')).toBe('false\n'.repeat(4));
  expect([code, stderr]).toEqual([0, expect.stringContaining('is in use by process')]);
  // Without a GPU it says which lock is meant.
  expect(stderr).not.toContain('note: the GPU is in use');
  expect(readdirSync(locks).filter((name) => lockHolder(join(locks, name)) !== null)).toEqual([]);
}, 120_000);

test('a folder for locks that cannot be made: said at once, and nothing is begun', async () => {
  const { folder, db } = temporaryStore();
  const matrix = batchMatrix(folder, [1], ['repeats: 1']);
  const env = { BENCH_LOCK_DIR: '/proc/x/locks' };
  const text =
    /^bench: \/proc\/x\/locks: locks cannot be kept there \(ENOENT.*\): set BENCH_LOCK_DIR to a folder that may be written\n$/m;
  const refused = await bench(['run', matrix, '--trtexec', TROUBLED, '--db', db], { env });
  expect(refused).toMatchObject({ code: 3, stderr: expect.stringMatching(text) });
  expect(queryStore(db, 'SELECT 1 FROM sweeps')).toEqual([]);
}, 30_000);
