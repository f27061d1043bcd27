import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { bench, finished, startBench, temporaryFolder } from '../support/bench.ts';
import { stubSmi } from '../support/nvidia-smi.ts';
import { queryStore } from '../support/store-dump.ts';
import { batchMatrix, TROUBLED, type Trouble, troubleEnv } from '../support/trouble.ts';

const QUICK = 'retries: {times: 2, waitS: 0.05}';

const ATTEMPTS = `
  SELECT runs.role, attempt, attempts.outcome, attempts.reason, evidence, ended_at >= attempts.started_at AS ended
  FROM attempts JOIN runs USING (run_id) ORDER BY runs.role, attempt`;

const busy = {
  outcome: 'failed',
  reason: 'cudaError',
  evidence: 'Cuda failure: all CUDA-capable devices are busy or unavailable',
  ended: 1,
};
const measured = { outcome: 'measured', reason: null, evidence: null, ended: 1 };

async function sweep(
  troubles: readonly Trouble[],
  more: readonly string[] = [QUICK],
  env: Readonly<Record<string, string>> = {},
) {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  const matrix = batchMatrix(folder, [1], ['repeats: 1', ...more]);
  const args = ['run', matrix, '--trtexec', TROUBLED, '--db', db];
  const result = await bench(args, { env: { ...troubleEnv(folder, troubles), ...env } });
  return { ...result, db, folder };
}

describe('what can pass is tried again', { timeout: 180_000 }, () => {
  test('a GPU that is lost in a build and busy in a run: measured, with a note and the log of each start', async () => {
    const { code, db, folder, stderr } = await sweep([
      { when: '--saveEngine', does: 'lost', times: 1 },
      { when: '--loadEngine', does: 'busy', times: 2 },
    ]);
    expect(code).toBe(0);
    expect(stderr).toContain('note: small fp16: the GPU was lost (cudaError); tried again in 0.05 s (retry 1 of 2)');
    expect(queryStore(db, ATTEMPTS)).toEqual([
      { role: 'build', attempt: 1, ...busy, evidence: expect.stringContaining('GPU is lost') },
      { role: 'build', attempt: 2, ...measured, outcome: 'built' },
      { role: 'timed', attempt: 1, ...busy },
      { role: 'timed', attempt: 2, ...busy },
      { role: 'timed', attempt: 3, ...measured },
    ]);
    const [run] = queryStore<{ id: string; folder: string; notes: string }>(
      db,
      `SELECT run_id AS id, artefact_folder AS folder, notes FROM runs WHERE role = 'timed'`,
    );
    expect(run?.notes).toBe('["started 3 times: the GPU was busy before"]');
    const names = readdirSync(join(folder, 'artefacts', run?.folder ?? ''));
    expect(names).toEqual(
      expect.arrayContaining(['attempt-1.stderr.log.zst', 'attempt-2.stderr.log.zst', 'stderr.log.zst']),
    );
    const shown = await bench(['show', run?.id ?? '', '--db', db]);
    expect(shown.stdout).toMatch(/start +2: \S+ failed cudaError: Cuda failure: all CUDA/);
    expect(shown.stdout).toMatch(/start +3: \S+ measured/);
    const json = JSON.parse((await bench(['show', run?.id ?? '', '--json', '--db', db])).stdout);
    expect(json.attempts).toHaveLength(3);

    // The store can be made again from what lies on disk.
    mkdirSync(join(folder, 'again'));
    const again = join(folder, 'again', 'bench.sqlite');
    const imported = await bench(['import', join(folder, 'artefacts'), '--db', again]);
    expect(imported.code).toBe(0);
    expect(queryStore(again, ATTEMPTS)).toEqual(queryStore(db, ATTEMPTS));
  });

  test('until it was tried often enough', async () => {
    const { code, db, stderr } = await sweep([{ when: '--loadEngine', does: 'notReady' }]);
    expect(code).toBe(4);
    expect(queryStore(db, `SELECT outcome, reason, notes FROM runs WHERE role = 'timed'`)).toEqual([
      { outcome: 'failed', reason: 'cudaError', notes: '["started 3 times: CUDA was not ready each time"]' },
    ]);
    expect(stderr.match(/tried again/g)).toHaveLength(2);
  });

  test('memory that others hold, but not what is too large for an empty GPU', async () => {
    const trouble = [{ when: '--loadEngine', does: 'outOfMemory', times: 1 }];
    const beside = stubSmi({ apps: '4242, 60000, python3\n' });
    const shared = await sweep(trouble, [QUICK], beside.env);
    // It was measured, beside another process on the GPU: no result.
    expect([shared.code, shared.stderr]).toEqual([
      4,
      expect.stringContaining('memory of the GPU was taken by others (outOfMemory)'),
    ]);
    const alone = await sweep(trouble, [QUICK], stubSmi({}).env);
    expect(alone.code).toBe(4);
    expect(alone.stderr).not.toContain('tried again');
  });
});

describe('not tried again', { timeout: 180_000 }, () => {
  test('with retries: {times: 0}', async () => {
    const { code, db } = await sweep([{ when: '--loadEngine', does: 'busy', times: 1 }], ['retries: {times: 0}']);
    expect(code).toBe(4);
    expect(queryStore(db, ATTEMPTS)).toHaveLength(2);
  });

  test('after Ctrl-C in the pause, which ends it at once; --resume starts anew', async () => {
    const folder = temporaryFolder();
    const db = join(folder, 'bench.sqlite');
    const matrix = batchMatrix(folder, [1], ['repeats: 1', 'retries: {waitS: 3600}']);
    const env = troubleEnv(folder, [{ when: '--loadEngine', does: 'busy', times: 1 }]);
    const child = startBench(['run', matrix, '--trtexec', TROUBLED, '--db', db], { env });
    const ended = finished(child);
    let reported = '';
    let isStopped = false;
    child.stderr?.on('data', (chunk: Buffer) => {
      reported += chunk.toString();
      if (isStopped || !reported.includes('tried again in 3600 s')) return;
      // Once: a second one while it ends would end it otherwise.
      isStopped = true;
      child.kill('SIGINT');
    });
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([130, expect.stringContaining('go on with `bench run --resume')]);
    expect((await bench(['run', '--resume', '--db', db], { env })).code).toBe(0);
    expect(queryStore(db, ATTEMPTS).slice(1)).toEqual([
      { role: 'timed', attempt: 1, ...busy },
      { role: 'timed', attempt: 2, ...measured },
    ]);
  });
});
