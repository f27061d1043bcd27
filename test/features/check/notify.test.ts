import { chmodSync, existsSync, readFileSync, writeFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { startProgram, notifyPrograms, type NotifySources } from '../../../src/features/check/notify.ts';
import { spawnProcess } from '../../../src/process/spawn.ts';
import { notifyCommand } from '../../../src/cli/options.ts';
import { migrationsFolder } from '../../../src/cli/store-location.ts';
import { readMatrix } from '../../../src/features/plan/index.ts';
import { NO_GIT, type Sweep } from '../../../src/records/sweep.ts';
import { openStore } from '../../../src/store/file/open.ts';
import { saveSweep } from '../../../src/store/sweeps/sweeps.ts';
import { temporaryFolder } from '../../support/bench.ts';
import { testIo } from '../../support/io.ts';
import { oneModel } from '../../support/matrices.ts';
import { Repository } from '../../support/repository.ts';

/** What notify said of a program with these lines of sh, in a folder of its own. */
async function notified(...lines: readonly string[]) {
  const cwd = temporaryFolder();
  const program = join(cwd, 'tell');
  writeFileSync(program, ['#!/bin/sh', ...lines, ''].join('\n'));
  chmodSync(program, 0o755);
  let said = '';
  const io = { ...testIo(), cwd, env: process.env, spawn: spawnProcess, err: (text: string) => void (said += text) };
  const isDone = await startProgram([program, 'a b', '$HOME'], '{"findings": 2}', io);
  const read = (name: string): string => (existsSync(join(cwd, name)) ? readFileSync(join(cwd, name), 'utf8') : '');
  return { isDone, said: said.replace(program, 'tell'), read };
}

test('a failure is said with the last line that it printed', async () => {
  const { isDone, said } = await notified(
    'echo sent',
    'echo "first" >&2',
    'printf "no \\033[31mroute\\n" >&2',
    'exit 7',
  );
  expect(isDone).toBe(false);
  expect(said).toBe(
    'note: notify: tell: exit code 7: no \\u001b[31mroute; the findings are stored, and the next check tries again\n',
  );
});

test('one that does not end is ended after 30 s', async () => {
  let said = '';
  let limitMs = 0;
  const io = {
    ...testIo(),
    spawn: async (invocation: Parameters<typeof spawnProcess>[0]) => {
      limitMs = invocation.timeoutMs;
      return {
        exitCode: null,
        signal: 'SIGTERM',
        timedOut: true,
        limit: null,
        cancelled: false,
        logTooLong: false,
        startProblem: null,
        startedAt: new Date(0),
        wallS: 30,
      };
    },
    err: (text: string) => void (said += text),
  };
  expect(await startProgram(['slow'], '{}', io)).toBe(false);
  expect([limitMs, said]).toEqual([
    30_000,
    'note: notify: slow: bench stopped it after 30 s; the findings are stored, and the next check tries again\n',
  ]);
});

describe('which programs are started', () => {
  const SWEEP: Sweep = {
    ...NO_GIT,
    sweepId: 'a'.repeat(32),
    source: 'run',
    name: null,
    matrix: 'm',
    provenance: 'measured',
    recordingSet: null,
    state: 'finished',
    startedAt: '2026-11-21T02:00:00.000Z',
    finishedAt: null,
    seed: 1,
    toolVersion: '0',
    trtexec: null,
    tensorrt: '10.6',
    host: hostname(),
  };

  let repository: Repository;
  /** A folder of the repository. */
  let cwd: string;
  let said: string;

  beforeEach(() => {
    repository = new Repository(temporaryFolder());
    cwd = join(repository.folder, 'bench');
    mkdirSync(cwd);
    said = '';
  });

  function matrixIn(folder: string, ...lines: readonly string[]): string {
    const path = join(folder, 'm.yaml');
    writeFileSync(path, oneModel('axes: {batch: 8}', ...lines));
    return path;
  }

  const NOTIFY = 'gate: {notify: [./tell.mjs, now]}';

  /** Programs for a store with this sweep, whose plan names this file. */
  async function programsOf(file: string | null, sweep: Partial<Sweep> = {}, sources: Partial<NotifySources> = {}) {
    const io = { ...testIo(), cwd, err: (text: string) => void (said += text) };
    const store = openStore(join(temporaryFolder(), 'bench.sqlite'), migrationsFolder());
    saveSweep(store.db, { ...SWEEP, ...sweep }, { matrix: file === null ? null : { file, identity: '' } });
    const given = { stated: undefined, matrices: null, sweeps: [{ ...SWEEP, ...sweep }], isUntrusted: false };
    try {
      return (await notifyPrograms(store.db, { ...given, ...sources }, io)).map(({ argv }) => argv);
    } finally {
      store.close();
    }
  }

  describe('without a file or program on the command line', () => {
    test('the matrix that a sweep was measured with names it, where it lies in the folder or its repository', async () => {
      expect(await programsOf(matrixIn(cwd, NOTIFY))).toEqual([[join(cwd, 'tell.mjs'), 'now']]);
      expect(await programsOf(matrixIn(repository.folder, NOTIFY))).toEqual([
        [join(repository.folder, 'tell.mjs'), 'now'],
      ]);
    });

    test('a file elsewhere starts nothing, nor does a link to it', async () => {
      const elsewhere = matrixIn(temporaryFolder(), NOTIFY);
      expect(await programsOf(elsewhere)).toEqual([]);
      symlinkSync(elsewhere, join(cwd, 'm.yaml'));
      expect(await programsOf(join(cwd, 'm.yaml'))).toEqual([]);
    });

    test.each([
      ['came from another machine', { host: 'rack-7' }],
      ['was imported', { source: 'import' as const }],
      ['is of another matrix', { matrix: 'other' }],
    ])('a sweep that %s starts nothing', async (_, sweep) => {
      expect(await programsOf(matrixIn(cwd, NOTIFY), sweep)).toEqual([]);
    });

    test('nothing is started for a plan without a file, a file without a program, and with --untrusted', async () => {
      expect([await programsOf(null), await programsOf(join(cwd, 'gone.yaml'))]).toEqual([[], []]);
      const file = matrixIn(cwd, NOTIFY);
      expect(await programsOf(file, {}, { isUntrusted: true })).toEqual([]);
      expect([await programsOf(file, {}, { sweeps: [] }), await programsOf(matrixIn(cwd)), said]).toEqual([[], [], '']);
    });

    test('a file with mistakes is said, and no error', async () => {
      expect(await programsOf(matrixIn(cwd, 'gate: {notify: 7}'))).toEqual([]);
      expect(said).toBe(`note: notify: ${join(cwd, 'm.yaml')} can no longer be read: nothing was started\n`);
    });
  });

  test('files of the command line may lie anywhere, and only those with something new count', async () => {
    const io = { ...testIo(), cwd };
    const matrices = [readMatrix(matrixIn(temporaryFolder(), 'name: m', 'gate: {notify: [mail, me]}'), io)];
    const others = [readMatrix(matrixIn(temporaryFolder(), 'name: other', 'gate: {notify: [mail, you]}'), io)];
    expect(await programsOf(null, {}, { matrices: [...matrices, ...others, ...matrices] })).toEqual([['mail', 'me']]);
  });

  test('series with the same program are one start of it', async () => {
    const file = matrixIn(cwd, NOTIFY);
    const io = { ...testIo(), cwd };
    const store = openStore(join(temporaryFolder(), 'bench.sqlite'), migrationsFolder());
    const sweeps = ['a', 'b'].map((digit) => ({ ...SWEEP, sweepId: digit.repeat(32), branch: digit }));
    for (const sweep of sweeps) saveSweep(store.db, sweep, { matrix: { file, identity: '' } });
    const found = await notifyPrograms(store.db, { stated: undefined, matrices: null, sweeps, isUntrusted: false }, io);
    expect(found).toEqual([{ argv: [join(cwd, 'tell.mjs'), 'now'], sweeps }]);
    store.close();
  });

  test.each([
    ['./tell.sh', ['./tell.sh']],
    ['my program', ['my program']],
    ['["mail", "-s", "bench", "ops@example.org"]', ['mail', '-s', 'bench', 'ops@example.org']],
  ])('%s', (text, argv) => expect(notifyCommand(text)).toEqual(argv));

  test.each(['["mail"', '[]', '["mail", 7]', ' '])('%s is no program', (text) => {
    expect(() => notifyCommand(text)).toThrow('must be a program, or a JSON list such as ["mail", "ops@example.org"].');
  });
});
