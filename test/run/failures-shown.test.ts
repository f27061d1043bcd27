import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { missingLibrary } from '../../src/trtexec/failures.ts';
import { bench, temporaryFolder } from '../support/bench.ts';
import { queryStore } from '../support/store-dump.ts';
import { batchMatrix, TROUBLED, type Trouble, troubleEnv } from '../support/trouble.ts';

async function sweep(troubles: readonly Trouble[], batches: readonly number[] = [1]) {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  const more = ['repeats: 1', 'retries: {times: 1, waitS: 3600}'];
  const matrix = batchMatrix(folder, batches, more);
  const args = ['run', matrix, '--profile', '--trtexec', TROUBLED, '--db', db];
  const result = await bench(args, { env: troubleEnv(folder, troubles) });
  const ask = async (...words: readonly string[]) =>
    (await bench([...words, '--db', db])).stdout.replaceAll(/[0-9a-f]{8}\b/g, 'ID');
  return { ...result, db, ask, repeated: args };
}

describe('a profile run whose device was not ready', { timeout: 180_000 }, () => {
  const trouble = { when: '--dumpProfile', does: 'deviceNotReady' };

  test('is tried again at once, whatever the wait', async () => {
    const { code, db, stderr } = await sweep([{ ...trouble, times: 1 }]);
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

  test('and lost for good: the table says what it was, why says which side lacks it; exit 4', async () => {
    const { code, stdout, db, ask, repeated } = await sweep([trouble]);
    expect(code).toBe(4);
    expect(stdout).toContain('1 failed: of profiles only, every timed run is there');
    expect(stdout).toContain('1× profile failed: CUDA');
    expect(stdout.replaceAll(/[0-9a-f]{8}\b/g, 'ID')).toContain(
      [
        '  small fp16 1x3 graph (profile) failed: CUDA reported an error',
        '    stderr line 1: Cuda failure: device not ready',
        '    → bench show ID',
      ].join('\n'),
    );
    const again = await bench(['run', '--resume', '--db', db]);
    expect(again.stderr).toContain('nothing to resume');
    expect(await ask('show', 'latest')).toContain('1 failed: of profiles only');
    expect((await bench(repeated)).code).toBe(0);
    const why = (await ask('why', 'batch=1', 'latest~1', 'latest')).replaceAll(/\s+/g, ' ');
    expect(why).toContain(
      'a layer profile of base: its profile run failed (cudaError: Cuda failure: device not ready; bench show ID)',
    );
    expect(why).not.toContain('profile of head');
  });
});

describe('a plugin that is missing', { timeout: 180_000 }, () => {
  const plugin = { when: '--saveEngine', does: 'noPlugin' };
  const line = 'Cannot find plugin: MyPlugin_TRT, version: 1';

  test('the run, the sweep, the cell and the build say so, with its name and the id', async () => {
    const { code, stdout, stderr, db, ask } = await sweep([plugin], [1, 8]);
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
    const shown = await ask('show', 'latest');
    expect(shown).toContain(section);
    for (const text of [shown, stdout]) expect(text).toMatch(/^0 of 4 runs \+ 0 of 1 build, 1 failed, 4 skipped\n/);
    const json = JSON.parse((await bench(['show', 'latest', '--json', '--db', db])).stdout);
    expect(json.counts).toMatchObject({ measured: 0, failed: 1, skipped: 4 });
    const evidence = { stream: 'stderr', line: 1, text: expect.stringContaining(line) };
    const failure = { role: 'build', label: 'small fp16', kind: 'failed', reason: 'operatorUnsupported', evidence };
    expect(json.failures).toMatchObject([failure]);
    const cell = await ask('show', 'batch=8');
    expect(cell).toMatch(/ID +ID .*build .*failed operatorUnsupported/);
    expect(cell).toContain('MyPlugin_TRT');
    const { runId } = json.failures[0];
    const build = (await bench(['show', runId, '--db', db])).stdout;
    expect(build).toContain(`small fp16 (build) · run ${runId.slice(0, 8)}`);
  });
});

describe('a library that is missing', { timeout: 180_000 }, () => {
  test('is named, with what finds it; exit 3', async () => {
    const { code, stderr } = await sweep([{ when: '=', does: 'noLibrary' }]);
    expect(stderr).toContain(
      'bench: trtexec: libnvinfer_plugin.so.10 could not be loaded: put its folder on LD_LIBRARY_PATH; `bench doctor` looks for it and prints the line',
    );
    expect(code).toBe(3);
  });
});

test.each([
  [
    'Unable to open library: libnvinfer_plugin.so.10 due to libnvinfer_plugin.so.10: cannot open shared object file',
    'libnvinfer_plugin.so.10',
  ],
  [
    'createInferBuilder: Error Code 6: API Usage Error (Unable to load library: libnvinfer_builder_resource.so.10.6.0: libnvinfer_builder_resource.so.10.6.0: cannot open shared object file: No such file or directory)',
    'libnvinfer_builder_resource.so.10.6.0',
  ],
  ['trtexec: error while loading shared libraries: libcudart.so.12: cannot open shared object file', 'libcudart.so.12'],
  [
    'IPluginRegistry::loadLibrary: Error Code 6: API Usage Error (Unable to load library: /tmp/bad.so: /tmp/bad.so: invalid ELF header)',
    null,
  ],
])('%s: %s', (text, name) => {
  expect(missingLibrary([{ stream: 'stderr', line: 1, text }])).toBe(name);
});
