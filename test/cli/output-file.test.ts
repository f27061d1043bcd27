import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder } from '../support/bench.ts';

const QUICKSTART = join(ROOT, 'matrices', 'quickstart.yaml');

describe('a file that the user names', () => {
  let cwd: string;
  let db: string;

  beforeAll(async () => {
    cwd = sharedFolder();
    db = join(cwd, 'bench.sqlite');
    const { code, stderr } = await bench(['run', QUICKSTART, '--filter', 'model=vit_small & batch=8', '--db', db], {
      cwd,
    });
    if (code !== 0) throw new Error(stderr);
  });

  const report = (...args: string[]) => bench(['report', ...args, '--db', db], { cwd });

  test.each(['--html', '--md', '--csv'])('%s keeps a link and the mode of its target', async (option) => {
    const [file, link] = [join(cwd, `file${option}`), join(cwd, `link${option}`)];
    writeFileSync(file, 'old');
    chmodSync(file, 0o600);
    symlinkSync(file, link);
    expect((await report(option, link)).code).toBe(0);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
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
    expect(await report('--html', link)).toMatchObject({
      code: 3,
      stderr: `bench: ${link}: cannot be written: the disk is full\n`,
    });
    expect([lstatSync(link).isSymbolicLink(), statSync(link).isCharacterDevice()]).toEqual([true, true]);
    expect(readdirSync(cwd).filter((name) => name.includes('.tmp-'))).toEqual([]);
  });
});
