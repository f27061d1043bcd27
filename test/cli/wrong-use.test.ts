import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { openStore } from '../../src/store/file/open.ts';
import { bench, ROOT, sharedFolder, temporaryFolder } from '../support/bench.ts';
import { stubMatrix } from '../support/stub.ts';

const NIGHT = join(ROOT, 'matrices', 'quickstart.yaml');

describe('one clear line, no stack, nothing on standard output', () => {
  let cwd: string;

  beforeAll(() => {
    cwd = sharedFolder();
    stubMatrix(cwd);
    writeFileSync(join(cwd, 'not-a-store.sqlite'), 'text that is no database, but long enough');
    writeFileSync(join(cwd, 'notes.txt'), 'hello');
    writeFileSync(join(cwd, 'not-executable'), '#!/bin/sh\n');
    writeFileSync(join(cwd, 'not-trtexec'), '#!/bin/sh\necho hello\n');
    chmodSync(join(cwd, 'not-trtexec'), 0o755);
    mkdirSync(join(cwd, 'empty'));
  });

  test.each([
    // exit code, what is said, command line
    [2, `unknown option '--nope'`, ['run', '--nope']],
    [2, `unknown option '--filtr'; did you mean --filter?`, ['run', '--filtr', 'x']],
    [2, `unknown command 'comparee'; did you mean compare?`, ['comparee']],
    [2, `unknown command 'diff'; did you mean compare?`, ['diff']],
    [2, `unknown command 'log'; did you mean ls sweeps?`, ['log']],
    [2, `unknown command 'pareto'; did you mean choose?`, ['pareto']],
    [2, '--min-sqnr goes with --max-latency', ['choose', '--min-sqnr', '20']],
    [2, 'too many arguments', ['run', 'a', 'b']],
    [2, `missing required argument 'matrix'`, ['plan']],
    [2, 'must be a whole number from 1 on', ['trend', '--last', '0']],
    [2, '"slower" is not one of', ['compare', '--fail-on', 'slower']],
    [2, 'no-such.yaml: no such file', ['run', 'no-such.yaml']],
    [2, 'notes.txt: a matrix is a map', ['plan', 'notes.txt']],
    [2, 'bench run MATRIX', ['run']],
    [2, 'no such store', ['compare']],
    [2, 'no such store', ['trend']],
    [2, 'no such store', ['ls', 'sweeps']],
    [2, 'no such store', ['ls', 'cells']],
    [2, 'no such store', ['show', 'latest']],
    [2, 'no such store', ['run', '--resume']],
    [2, 'no such store', ['ls', 'baselines']],
    [2, 'is not a SQLite file', ['ls', 'sweeps', '--db', 'not-a-store.sqlite']],
    [2, 'bench: .: is a folder; name a matrix file', ['run', '.']],
    [2, 'bench: which matrix? Its name is empty', ['run', '']],
    [2, 'bench: which file or folder? Its name is empty', ['import', '']],
    [2, 'no such file or folder', ['parse', 'nowhere']],
    [2, 'nothing of trtexec in it', ['parse', 'notes.txt']],
    [2, 'nothing of trtexec in it', ['parse', '-']],
    [2, 'nothing of trtexec in it', ['import', 'empty']],
    [2, 'unknown field "bach"; did you mean "batch"?', ['plan', NIGHT, '--filter', 'bach=8']],
    [2, '--trtexec and --replay exclude', ['run', NIGHT, '--trtexec', 'x', '--replay', 'night1']],
    [2, 'night1, night2, pair', ['run', NIGHT, '--replay', 'night3']],
    [2, 'write a version such as 10.6', ['plan', NIGHT, '--tensorrt', 'ten']],
    [3, 'no-such-trtexec', ['run', 'stub.yaml', '--trtexec', './no-such-trtexec']],
    [3, 'not-executable', ['run', 'stub.yaml', '--trtexec', './not-executable']],
    [3, 'not-trtexec', ['run', 'stub.yaml', '--trtexec', './not-trtexec']],
    [3, 'trtexec was not found', ['run', 'stub.yaml']],
    [2, 'no such store', ['ls', 'sweeps', '--db', 'no/such/folder/bench.sqlite']],
  ])('%i: %s', async (code, message, args) => {
    const env = { PATH: '/nonexistent', TRTEXEC: undefined };
    const result = await bench(args, { cwd, env });
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(message);
    expect(result.stderr).not.toMatch(/^\s+at /m);
    expect(result.stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  test.each([
    ['compare', 2, 'the store is empty'],
    ['trend', 2, 'the store is empty'],
    ['ls sweeps', 0, 'no sweep is stored'],
    ['ls cells', 0, 'no cell is stored'],
    ['ls baselines', 0, 'no baseline: `bench baseline set'],
    ['show latest', 2, 'the store is empty'],
    ['run --resume', 0, 'nothing to resume'],
  ])('an empty store: %s', async (line, code, message) => {
    const db = join(cwd, 'new.sqlite');
    openStore(db, join(ROOT, 'migrations')).close();
    const result = await bench([...line.split(' '), '--db', db], { cwd });
    expect(result.code).toBe(code);
    expect(result.stdout + result.stderr).toContain(message);
    expect((result.stdout + result.stderr).trimEnd().split('\n')).toHaveLength(1);
  });
});

test('a stack under BENCH_DEBUG=1 names lines of the sources', async () => {
  const { stderr } = await bench(['compare', '--db', join(temporaryFolder(), 'none.sqlite')], {
    env: { BENCH_DEBUG: '1' },
  });
  expect(stderr).toMatch(/src\/features\/compare\/compare\.ts:\d+:\d+/);
  expect(stderr).not.toMatch(/dist\/.*\.js:/);
});
