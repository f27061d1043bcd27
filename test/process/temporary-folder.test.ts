import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test, vi } from 'vitest';

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

  test('is gone when the work is done, also when it fails', async () => {
    const names = await inTemporaryFolder('probe', async () => readdirSync(folder));
    expect(names).toEqual([expect.stringMatching(/^bench-probe-\w{6}$/)]);
    const failing = inTemporaryFolder('probe', () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(readdirSync(folder)).toEqual([]);
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
      stderr: expect.stringContaining(`bench: ${path}: the temporary folder cannot be used (ENOENT: no such file`),
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
      stderr: expect.stringContaining(`bench: ${path}: the temporary folder cannot be used (`),
    });
  });
});

/** What trtexec prints is then cut off. */
function fillWith(path: string): void {
  writeFileSync(join(path, 'filler'), Buffer.alloc(1 << 20));
}
