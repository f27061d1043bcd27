import { execFile, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, type Finished, finished, ROOT, sharedFolder } from '../support/bench.ts';
import { sharedStore } from '../support/made-stores.ts';
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
    db = await sharedStore('pairs');
  }, 60_000);

  const LINE =
    'bench: standard output could not be written (ENOSPC: no space left on device, write): results are missing there\n';

  test.each([
    ['ls', 'sweeps'],

    ['show', 'latest', '--json'],
    ['--help'],
  ])('%s %s %s: 3 and one line', async (...args) => {
    const inStore = args.some((arg) => arg.includes('help')) ? args : [...args, '--db', db];
    expect(await onFullDisk(['stdout'], inStore)).toMatchObject({ code: 3, stderr: LINE });
  });

  test('a regression stays one', async () => {
    const args = ['compare', 'latest~1', 'latest', '--db', db];
    expect(await onFullDisk(['stdout'], args)).toMatchObject({ code: 1, stderr: LINE });
    expect(await onFullDisk(['stdout', 'stderr'], args)).toMatchObject({ code: 1 });
  });

  async function expectSweep(store: string): Promise<void> {
    const { stdout } = await bench(['ls', 'sweeps', '--db', store, '--json']);
    expect(JSON.parse(stdout).sweeps).toMatchObject([{ state: 'finished', measured: 10 }]);
  }

  test.skipIf(onPath('python3') === null)('a terminal that goes away ends no sweep', async () => {
    const other = join(sharedFolder(), 'other.sqlite');
    const program = [process.execPath, BENCH, 'run', join(MATRICES, 'quickstart-pair.yaml'), '--db', other];
    const child = spawn('python3', ['-c', TERMINAL_GOES, ...program], { env: { ...process.env, CI: undefined } });
    expect((await finished(child)).code).toBe(3);
    await expectSweep(other);
  });
});

describe('a file that the user names', () => {
  const cwd = sharedFolder();
  let db: string;

  beforeAll(async () => {
    db = await sharedStore('pair');
  });

  const report = (...args: string[]) => bench(['report', ...args, '--db', db], { cwd });

  test('a link and the mode of its target stay', async () => {
    const [file, link] = [join(cwd, 'file.html'), join(cwd, 'link.html')];
    writeFileSync(file, 'old');
    chmodSync(file, 0o600);
    symlinkSync(file, link);
    expect((await report('--html', link)).code).toBe(0);
    expect([lstatSync(link).isSymbolicLink(), statSync(file).mode & 0o777]).toEqual([true, 0o600]);
    expect(readFileSync(file, 'utf8').length).toBeGreaterThan(100);
  });

  test('a pipe is written to', async () => {
    const pipe = join(cwd, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = promisify(execFile)('cat', [pipe], { maxBuffer: 1 << 28 });
    expect((await report('--html', pipe)).code).toBe(0);
    if (!lstatSync(pipe).isFIFO()) reader.child.kill();
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    expect((await reader).stdout).toMatch(/^<!doctype html>/i);
  });

  test('a full device is named, and stays; nothing is left beside it', async () => {
    const link = join(cwd, 'full');
    symlinkSync('/dev/full', link);
    const stderr = `bench: ${link} cannot be written: the disk is full\n`;
    expect(await report('--html', link)).toMatchObject({ code: 3, stderr });
    expect([lstatSync(link).isSymbolicLink(), statSync(link).isCharacterDevice()]).toEqual([true, true]);
    expect(readdirSync(cwd).filter((name) => name.includes('.tmp-'))).toEqual([]);
  });
});
