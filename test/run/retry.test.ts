import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { missingLibrary } from '../../src/trtexec/failures.ts';
import { bench, finished, startBench, temporaryStore } from '../support/bench.ts';
import { stubSmi } from '../support/nvidia-smi.ts';
import { queryStore } from '../support/store-dump.ts';
import { batchMatrix, type Trouble, TROUBLED, troubleEnv } from '../support/trouble.ts';

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
  const { folder, db } = temporaryStore();
  const args = ['run', batchMatrix(folder, [1], ['repeats: 1', ...more]), '--trtexec', TROUBLED, '--db', db];
  return { ...(await bench(args, { env: { ...troubleEnv(folder, troubles), ...env } })), db, folder };
}

describe('what can pass is tried again', { timeout: 180_000 }, () => {
  test('a GPU that is lost in a build and busy in a run: measured, with the log of each start', async () => {
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
    const [run] = queryStore<{ id: string; folder: string }>(
      db,
      `SELECT run_id AS id, artefact_folder AS folder FROM runs WHERE role = 'timed'`,
    );
    expect(readdirSync(join(folder, 'artefacts', run?.folder ?? ''))).toEqual(
      expect.arrayContaining(['attempt-1.stderr.log.zst', 'attempt-2.stderr.log.zst', 'stderr.log.zst']),
    );
    const shown = await bench(['show', run?.id ?? '', '--db', db]);
    expect(shown.stdout).toMatch(/start +2: \S+ failed cudaError: Cuda failure: all CUDA/);
    expect(shown.stdout).toMatch(/start +3: \S+ measured/);
    expect(JSON.parse((await bench(['show', run?.id ?? '', '--json', '--db', db])).stdout).attempts).toHaveLength(3);

    // The store can be made again from what lies on disk.
    mkdirSync(join(folder, 'again'));
    const again = join(folder, 'again', 'bench.sqlite');
    const imported = await bench(['import', join(folder, 'artefacts'), '--db', again]);
    expect([imported.code, queryStore(again, ATTEMPTS)]).toEqual([0, queryStore(db, ATTEMPTS)]);
  });

  test('until it was tried often enough', async () => {
    const { code, db, stderr } = await sweep([{ when: '--loadEngine', does: 'notReady' }]);
    expect(code).toBe(4);
    expect(queryStore(db, `SELECT outcome, reason FROM runs WHERE role = 'timed'`)).toEqual([
      { outcome: 'failed', reason: 'cudaError' },
    ]);
    expect(stderr.match(/tried again/g)).toHaveLength(2);
  });

  test('memory that others hold, but not what is too large for an empty GPU', async () => {
    const trouble = [{ when: '--loadEngine', does: 'outOfMemory', times: 1 }];
    const shared = await sweep(trouble, [QUICK], stubSmi({ apps: '4242, 60000, python3\n' }).env);
    // It was measured, beside another process on the GPU: no result.
    const stderr = expect.stringContaining('memory of the GPU was taken by others (outOfMemory)');
    expect(shared).toMatchObject({ code: 4, stderr });
    const alone = await sweep(trouble, [QUICK], stubSmi({}).env);
    expect(alone).toMatchObject({ code: 4, stderr: expect.not.stringContaining('tried again') });
  });
});

test('not tried again: after Ctrl-C in the pause, which ends it at once; --resume starts anew', async () => {
  const { folder, db } = temporaryStore();
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
  const stderr = expect.stringContaining('continue with `bench run --resume');
  expect(await ended).toMatchObject({ code: 130, stderr });
  expect((await bench(['run', '--resume', '--db', db], { env })).code).toBe(0);
  expect(queryStore(db, ATTEMPTS).slice(1)).toEqual([
    { role: 'timed', attempt: 1, ...busy },
    { role: 'timed', attempt: 2, ...measured },
  ]);
}, 180_000);

async function sweepOfFailuresShown(troubles: readonly Trouble[], batches: readonly number[] = [1]) {
  const { folder, db } = temporaryStore();
  const matrix = batchMatrix(folder, batches, ['repeats: 1', 'retries: {times: 1, waitS: 3600}']);
  const args = ['run', matrix, '--profile', '--trtexec', TROUBLED, '--db', db];
  const result = await bench(args, { env: troubleEnv(folder, troubles) });
  const ask = async (...words: readonly string[]) =>
    (await bench([...words, '--db', db])).stdout.replaceAll(/[0-9a-f]{8}\b/g, 'ID');
  return { ...result, db, ask, repeated: args };
}

describe('a profile run whose device was not ready', { timeout: 180_000 }, () => {
  const trouble = { when: '--dumpProfile', does: 'deviceNotReady' };

  test('is tried again at once, whatever the wait', async () => {
    const { code, db, stderr } = await sweepOfFailuresShown([{ ...trouble, times: 1 }]);
    expect(stderr).toContain('the device was not ready (cudaError); tried again at once (retry 1 of 1)');
    expect(code).toBe(0);
    expect(
      queryStore(
        db,
        `SELECT attempt, attempts.reason FROM attempts JOIN runs USING (run_id)
        WHERE runs.role = 'profile' ORDER BY attempt`,
      ),
    ).toHaveLength(2);
  });
});

describe('a plugin that is missing', { timeout: 180_000 }, () => {
  const plugin = { when: '--saveEngine', does: 'noPlugin' };
  const line = 'Cannot find plugin: MyPlugin_TRT, version: 1';

  test('the run, the sweep, the cell and the build say so, with its name and the id', async () => {
    const { code, stdout, stderr, db, ask } = await sweepOfFailuresShown([plugin], [1, 8]);
    expect(code).toBe(4);
    expect(stderr.replaceAll(/[0-9a-f]{8}\b/g, 'ID')).toMatch(
      /build +small fp16: failed: .*\(operatorUnsupported\) · .*Cannot find plugin: MyPlugin_TRT.* · bench show ID/,
    );
    const section = [
      '  small fp16 (build) failed: TensorRT cannot parse the model, or lacks one of its plugins',
      `    stderr line 1: IPluginRegistry::getCreator: Error Code 4: API Usage Error (Cannot find plugin:`,
      '    MyPlugin_TRT, version: 1, namespace:.)',
      '    → bench show ID',
    ].join('\n');
    expect(stdout.replaceAll(/[0-9a-f]{8}\b/g, 'ID')).toContain(section);
    expect(stdout).toMatch(/^0 of 4 runs \+ 0 of 1 engine, 1 failed, 4 skipped\n/);
    expect(await ask('show', 'latest')).toContain(section);
    const json = JSON.parse((await bench(['show', 'latest', '--json', '--db', db])).stdout);
    expect(json.counts).toMatchObject({ measured: 0, failed: 1, skipped: 4 });
    const evidence = { stream: 'stderr', line: 1, text: expect.stringContaining(line) };
    const failure = { role: 'build', label: 'small fp16', kind: 'failed', reason: 'operatorUnsupported', evidence };
    expect(json.failures).toMatchObject([failure]);
    expect(await ask('show', 'batch=8')).toContain('  no runs: `bench show SWEEP` lists failed builds\n');
    const { runId } = json.failures[0];
    const build = (await bench(['show', runId, '--db', db])).stdout;
    expect(build).toContain(`small fp16 (build) · run ${runId.slice(0, 8)}`);
  });
});

test('a build that guessed a shape is unfit, as bench show counts it', async () => {
  expect((await sweep([{ when: '--saveEngine', does: 'guesses' }])).stdout).toMatch(/ engine, 1 unfit, 1 skipped\n/);
}, 60_000);

test('a library that is missing: is named, with what finds it; exit 3', async () => {
  const { code, stderr } = await sweepOfFailuresShown([{ when: '=', does: 'noLibrary' }]);
  expect(stderr).toContain(
    'bench: trtexec: libnvinfer_plugin.so.10 could not be loaded: put its folder on LD_LIBRARY_PATH; `bench doctor` looks for it and prints the line',
  );
  expect(code).toBe(3);
}, 180_000);

test.each([
  [
    'Unable to open library: libnvinfer_plugin.so.10 due to libnvinfer_plugin.so.10: cannot open shared object file',
    'libnvinfer_plugin.so.10',
  ],
  ['trtexec: error while loading shared libraries: libcudart.so.12: cannot open shared object file', 'libcudart.so.12'],
  [
    'IPluginRegistry::loadLibrary: Error Code 6: API Usage Error (Unable to load library: /tmp/bad.so: /tmp/bad.so: invalid ELF header)',
    null,
  ],
])('%s: %s', (text, name) => expect(missingLibrary([{ stream: 'stderr', line: 1, text }])).toBe(name));
