import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, type Finished, finished, ROOT, sharedFolder } from '../support/bench.ts';
import { onPath } from '../support/on-path.ts';

const BENCH = join(ROOT, 'bin', 'bench.js');
const MATRICES = join(ROOT, 'matrices');

/** Its writes end with ENOSPC. */
async function onFullDisk(streams: readonly ('stdout' | 'stderr')[], args: readonly string[]): Promise<Finished> {
  const full = openSync('/dev/full', 'w');
  const to = (stream: 'stdout' | 'stderr') => (streams.includes(stream) ? full : 'pipe');
  try {
    return await finished(spawn(process.execPath, [BENCH, ...args], { stdio: ['ignore', to('stdout'), to('stderr')] }));
  } finally {
    closeSync(full);
  }
}

/** Starts its arguments on a terminal that is no controlling one (no SIGHUP), and takes that away after the first bytes. */
const TERMINAL_GOES = `
import os, subprocess, sys
master, slave = os.openpty()
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave, start_new_session=True)
os.close(slave)
os.read(master, 1)
os.close(master)
sys.exit(child.wait())
`;

describe.skipIf(process.platform !== 'linux')('output that cannot be written', () => {
  let db: string;

  beforeAll(async () => {
    db = join(sharedFolder(), 'bench.sqlite');
    await bench(['run', join(MATRICES, 'quickstart-pair.yaml'), '--db', db]);
    await bench(['run', join(MATRICES, 'quickstart-pair-opt32.yaml'), '--db', db]);
  }, 30_000);

  const LINE =
    'bench: standard output could not be written (ENOSPC: no space left on device, write): results are missing there\n';

  test.each([
    ['ls', 'sweeps'],
    ['check', '--fail-on', 'failed'],
    ['show', 'latest', '--json'],
    ['help', 'exit-codes'],
    ['--help'],
    ['compare', '--help'],
  ])('%s %s %s: 3 and one line', async (...args) => {
    const inStore = args.some((arg) => arg.includes('help')) ? args : [...args, '--db', db];
    const { code, stderr } = await onFullDisk(['stdout'], inStore);
    expect([code, stderr]).toEqual([3, LINE]);
  });

  test('--version: 3 and no stack', async () => {
    expect(await onFullDisk(['stdout'], ['--version'])).toMatchObject({ code: 3, stderr: '' });
  });

  test('a regression stays one', async () => {
    const args = ['compare', 'latest~1', 'latest', '--db', db];
    expect(await onFullDisk(['stdout'], args)).toMatchObject({ code: 1, stderr: LINE });
    expect(await onFullDisk(['stdout', 'stderr'], args)).toMatchObject({ code: 1 });
  });

  test('progress that cannot be written changes nothing: the sweep is done, its table printed', async () => {
    const other = join(sharedFolder(), 'other.sqlite');
    const args = ['run', join(MATRICES, 'quickstart-pair.yaml'), '--db', other];
    const { code, stdout } = await onFullDisk(['stderr'], args);
    expect([code, stdout]).toEqual([0, expect.stringContaining('10 runs + 1 build')]);
  });

  async function expectSweep(store: string): Promise<void> {
    const { stdout } = await bench(['ls', 'sweeps', '--db', store, '--json']);
    expect(JSON.parse(stdout).sweeps).toMatchObject([{ state: 'finished', measured: 10 }]);
  }

  test('without any output a sweep is done and kept', async () => {
    const other = join(sharedFolder(), 'other.sqlite');
    const args = ['run', join(MATRICES, 'quickstart-pair.yaml'), '--db', other];
    expect(await onFullDisk(['stdout', 'stderr'], args)).toMatchObject({ code: 3 });
    await expectSweep(other);
  });

  test.skipIf(onPath('python3') === null)('a terminal that goes away ends no sweep', async () => {
    const other = join(sharedFolder(), 'other.sqlite');
    const program = [process.execPath, BENCH, 'run', join(MATRICES, 'quickstart-pair.yaml'), '--db', other];
    const child = spawn('python3', ['-c', TERMINAL_GOES, ...program], { env: { ...process.env, CI: undefined } });
    expect((await finished(child)).code).toBe(3);
    await expectSweep(other);
  });
});
