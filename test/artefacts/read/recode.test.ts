import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { readWhole } from '../../../src/files/files.ts';
import { isInstalled } from '../../../src/process/ask.ts';
import { bench, benchProcess, temporaryFolder } from '../../support/bench.ts';
import { readFixture } from '../../support/recordings.ts';
import { queryStore } from '../../support/store-dump.ts';

const LOG = readFixture('formats/default-run/stdout.log.br');
/** As PowerShell 5 writes the output of a program. */
const CRLF = LOG.toString().replaceAll('\n', '\r\n');
const UTF16_LE = Buffer.from(`\ufeff${CRLF}`, 'utf16le');
/** `printf 'x' | xz`, `printf 'x' | bzip2`: the first bytes tell. */
const XZ = Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46]);
const BZIP2 = Buffer.from('BZh91AY&SY', 'latin1');

const FOREIGN = [
  ['xz', 'xz', 'xz-utils'],
  ['bzip2', 'bz2', 'bzip2'],
] as const;

const UTF8 = Buffer.from(CRLF);

describe('logs as others write them', () => {
  test.each([
    ['UTF-16, little endian', UTF16_LE, UTF8],
    ['UTF-16, big endian', Buffer.from(UTF16_LE).swap16(), UTF8],
    ['gzip', gzipSync(LOG), LOG],
    ['Zstandard', zstdCompressSync(LOG), LOG],
  ])('%s, in a file named run.log', async (_name, bytes, expected) => {
    const path = join(temporaryFolder(), 'run.log');
    writeFileSync(path, bytes);
    expect((await readWhole(path)).equals(expected)).toBe(true);
  });

  test.each([
    ['UTF-8 with a mark', Buffer.from(`\ufeff${CRLF}`)],
    ['gzip of UTF-16', gzipSync(UTF16_LE)],
  ])('%s is imported, and again from its artefacts', async (_name, bytes) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'run.log'), bytes);
    const db = join(folder, 'b.sqlite');
    expect(await bench(['import', folder, '--db', db, '--model', 'm'])).toMatchObject({ code: 0, stderr: '' });
    expect(queryStore(db, 'SELECT outcome, throughput_qps FROM runs JOIN measurements USING (run_id)')).toEqual([
      { outcome: 'measured', throughput_qps: 4114.63 },
    ]);
    const { stdout } = await bench(['import', join(folder, 'artefacts'), '--db', join(folder, 'c.sqlite'), '--json']);
    expect(JSON.parse(stdout).sweeps).toMatchObject([{ stored: 1, outcomes: { measured: 1 } }]);
  });

  test.each([['two bytes that begin like a mark', Buffer.from([0xff, 0xfe, 0x70, 0x74, 0x72, 0x74])]])(
    '%s are no UTF-16',
    async (_name, bytes) => {
      const path = join(temporaryFolder(), 'values.bin');
      writeFileSync(path, bytes);
      expect(await readWhole(path)).toEqual(bytes);
    },
  );
});

describe.each(FOREIGN)('%s', (program, ending, from) => {
  const isThere = isInstalled(program);
  const packed = (folder: string, bytes: Buffer): string => {
    const path = join(folder, `run.log.${ending}`);
    writeFileSync(path, spawnSync(program, ['-c'], { input: bytes, maxBuffer: 1 << 26 }).stdout);
    return path;
  };

  test.skipIf(!isThere)(`is read as what is in it (apt-get install ${from})`, async () => {
    expect(await readWhole(packed(temporaryFolder(), LOG))).toEqual(LOG);
  });

  test.skipIf(!isThere)(`cut off, it is no whole file (apt-get install ${from})`, async () => {
    const path = packed(temporaryFolder(), LOG);
    writeFileSync(path, readFileSync(path).subarray(0, 1000));
    await expect(readWhole(path)).rejects.toThrow(`${program} failed: the data may be damaged or incomplete`);
  });

  test('without its program it is named, and everything else is imported', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'logs'));
    const path = join(folder, 'logs', `b.log.${ending}`);
    writeFileSync(join(folder, 'logs', 'a.log'), LOG);
    writeFileSync(path, program === 'xz' ? XZ : BZIP2);
    const env = { PATH: folder };
    const { code, stderr } = await benchProcess(['import', join(folder, 'logs'), '--db', join(folder, 'b.sqlite')], {
      env,
    });
    const advice = `needs ${program} to be read (apt-get install ${from}), or unpack it`;
    expect([code, stderr]).toEqual([0, `note: ${path} ${advice}\n`]);
    expect(await benchProcess(['parse', path], { env })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `bench: ${path} ${advice}\n`,
    });
  });
});
