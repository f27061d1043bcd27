import { writeFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { startProgram, notifyPrograms, type NotifySources } from '../../../src/features/check/notify.ts';
import { notifyCommand } from '../../../src/cli/options.ts';
import { migrationsFolder } from '../../../src/cli/store-location.ts';
import { readMatrix } from '../../../src/features/plan/index.ts';
import { newSweep, type Sweep } from '../../../src/records/sweep.ts';
import { openStore } from '../../../src/store/file/open.ts';
import { saveSweep } from '../../../src/store/sweeps/sweeps.ts';
import { temporaryFolder } from '../../support/bench.ts';
import { oneModel } from '../../support/matrices.ts';
import { Repository } from '../../support/repository.ts';
import { testIo } from '../../support/io.ts';
import { spawnProcess } from '../../../src/process/spawn-process.ts';

test('one that does not end is ended after 30 s', async () => {
  let said = '';
  let limitMs = 0;
  const spawn: typeof spawnProcess = (invocation, ...others) => {
    limitMs = invocation.timeoutMs;
    return spawnProcess({ ...invocation, timeoutMs: 50 }, ...others);
  };
  const io = { ...testIo(), env: process.env, spawn, err: (text: string) => void (said += text) };
  expect(await startProgram(['sleep', '60'], '{}', io)).toBe(false);
  const text = 'bench stopped it after 30 s; the findings are stored, and the next check tries again';
  expect([limitMs, said]).toEqual([30_000, `note: notify: sleep: ${text}\n`]);
});

describe('which programs are started', () => {
  const own = {
    sweepId: 'a'.repeat(32),
    source: 'run',
    matrix: 'm',
    provenance: 'measured',
    toolVersion: '0',
  } as const;
  const SWEEP: Sweep = { ...newSweep(own), state: 'finished', host: hostname() };

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
