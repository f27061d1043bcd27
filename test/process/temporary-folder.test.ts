import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test, vi } from 'vitest';

import { thisOwner } from '../../src/process/process-identity.ts';
import { inTemporaryFolder } from '../../src/process/temporary-folder.ts';
import { benchProcess, temporaryFolder } from '../support/bench.ts';
import { noDiskBecause, smallDisk } from '../support/small-disk.ts';
import { STUB, stubMatrix } from '../support/stub.ts';

describe('a folder in the temporary folder', () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
    vi.stubEnv('TMPDIR', folder);
    return () => vi.unstubAllEnvs();
  });

  function leave(name: string, owner: object | null): void {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'stdout.log'), 'x');
    if (owner !== null) writeFileSync(join(folder, name, '.owner.json'), JSON.stringify(owner));
  }

  test('is gone when the work is done, also when it fails', async () => {
    const names = await inTemporaryFolder('probe', async () => readdirSync(folder));
    expect(names).toEqual([expect.stringMatching(/^bench-probe-\w{6}$/)]);
    const failing = inTemporaryFolder('probe', () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('those of killed processes are removed, and nothing else', async () => {
    const gone = { ...thisOwner(), startTicks: '1' };
    leave('bench-probe-killed', gone);
    leave('bench-worker-killed', gone);
    leave('bench-probe-running', thisOwner());
    leave('bench-probe-elsewhere', { ...gone, bootId: 'another', host: 'another' });
    leave('bench-probe-unknown', null);
    await inTemporaryFolder('probe', async () => {});
    expect(readdirSync(folder).toSorted()).toEqual([
      'bench-probe-elsewhere',
      'bench-probe-running',
      'bench-probe-unknown',
      'bench-worker-killed',
    ]);
  });
});

describe('bench run names the temporary folder', () => {
  async function runWith(TMPDIR: string): Promise<{ code: number | null; stderr: string }> {
    const folder = temporaryFolder();
    const args = ['run', stubMatrix(folder), '--trtexec', STUB, '--db', join(folder, 'x.sqlite')];
    return benchProcess(args, { env: { TMPDIR, BENCH_LOCK_DIR: join(folder, 'locks') } });
  }

  test.each(['/nowhere/tmp', '/proc/nowhere'])('that is missing: %s', async (path) => {
    expect(await runWith(path)).toMatchObject({
      code: 3,
      stderr: `bench: ${path}: there is no such temporary folder: make it, or set TMPDIR to another folder\n`,
    });
  });

  test.skipIf(noDiskBecause() !== null).each([
    ['bytes', 1, null, (path: string) => fillWith(path)],
    // The folder itself is one.
    ['inodes', 8, 1, () => {}],
  ])('that has no %s left', async (_, mebibytes, inodes, fill) => {
    const { path } = smallDisk(mebibytes, inodes);
    fill(path);
    expect(await runWith(path)).toMatchObject({
      code: 3,
      stderr: `bench: ${path}: the temporary folder has no space or no inodes left: make room, or set TMPDIR to another folder\n`,
    });
  });
});

/** All but one page, which takes the owner of a folder: then what trtexec prints is cut off. */
function fillWith(path: string): void {
  writeFileSync(join(path, 'filler'), Buffer.alloc((1 << 20) - 4096));
}
