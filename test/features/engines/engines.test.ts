import { cpSync, existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { EngineCache } from '../../../src/engines/engine-cache.ts';
import { identityOf } from '../../../src/process/process-identity.ts';
import { bench, refusal, sharedFolder } from '../../support/bench.ts';
import { enginesBeside } from '../../support/engine-folder.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

const folder = sharedFolder();
const db = join(folder, 'bench.sqlite');
const pristine = sharedFolder();

/** Three builds of one engine. */
beforeAll(async () => {
  const matrix = stubMatrix(folder, ['builds: 3', 'repeats: 1']);
  const args = ['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry'];
  const { code, stderr } = await bench(args, { env: { STUB_LUCK: '1' } });
  if (code !== 0) throw new Error(stderr);
  cpSync(folder, pristine, { recursive: true, preserveTimestamps: true });
});

beforeEach(() => {
  rmSync(folder, { recursive: true });
  cpSync(pristine, folder, { recursive: true, preserveTimestamps: true });
});

const engines = async (...args: readonly string[]) => bench(['engines', ...args, '--db', db]);

const keyOf = (): string => enginesBeside(db)[0]?.note.engineKey.slice(0, 8) ?? '';

/** Of a build, or of what it is linked by. */
function file(number: number, ending: string): string {
  const engine = enginesBeside(db).find(({ note }) => note.number === number);
  return join(folder, 'engines', `${/plan|cache/.test(ending) ? engine?.note.sha256 : engine?.name}${ending}`);
}

/** With the timing cache that is kept with it. */
function engineBytes(number: number): number {
  const files = ['.plan', '.cache'].map((ending) => file(number, ending)).filter((path) => existsSync(path));
  return files.reduce((sum, path) => sum + statSync(path).size, 0);
}

const numbers = (): number[] => enginesBeside(db).map(({ note }) => note.number);

test('ls engines: what is kept, with size and build time', async () => {
  const { code, stdout } = await bench(['ls', 'engines', '--db', db, '--json']);
  const listed = JSON.parse(stdout).engines;
  expect([code, listed.length]).toEqual([0, 3]);
  for (const engine of listed) {
    expect(engine).toMatchObject({ model: 'small', precision: 'fp16', buildS: 1.5, usedBy: [] });
    expect(engine).toMatchObject({ bytes: readFileSync(engine.path).length, state: 'unchecked' });
    expect(Date.parse(engine.lastUsedAt)).toBeGreaterThan(0);
  }
  expect((await bench(['ls', 'engines', '--db', db])).stdout).toContain('3 engines, ');
});

test('verify: one flipped bit is seen, though size and time are as before', async () => {
  const path = file(2, '.plan');
  const { atime, mtime } = statSync(path);
  const bytes = readFileSync(path);
  bytes.writeUInt8(bytes.readUInt8(3) ^ 4, 3);
  writeFileSync(path, bytes);
  utimesSync(path, atime, mtime);
  const all = await engines('verify');
  expect([all.code, all.stdout]).toEqual([4, expect.stringContaining('CHANGED')]);
  const others = await engines('verify', `${keyOf()}-1`, `${keyOf()}-3`);
  expect([others.code, others.stdout.includes('CHANGED')]).toEqual([0, false]);
});

describe('rm', () => {
  test('one build, or all of a key; a pinned one only by --force', async () => {
    const key = keyOf();
    expect((await engines('rm', `${key}-2`)).stdout).toContain(`${key}-2 small fp16`);
    await engines('pin', `${key}-1`);
    const stderr = `bench: ${key} small fp16 is pinned: unpin it first, or use --force\n`;
    expect([await engines('rm', key), numbers()]).toMatchObject([{ code: 2, stderr }, [1, 3]]);
    expect([(await engines('rm', key, '--force')).code, numbers()]).toEqual([0, []]);
  });

  test('not one that another process uses', async () => {
    writeFileSync(file(1, `.use-${process.pid}`), JSON.stringify(identityOf(process.pid)));
    expect(await engines('rm', `${keyOf()}-1`)).toEqual(refusal(`is used by process ${process.pid}`));
    expect(numbers()).toEqual([1, 2, 3]);
  });
});

describe('gc', () => {
  const SPARE_NONE = ['--keep-last-good', '0MB'];

  /** The second was used last, then the third, then the first. */
  function age(): void {
    for (const [rank, number] of [1, 3, 2].entries()) {
      const at = new Date(Date.UTC(2026, 0, 1 + rank));
      utimesSync(file(number, '.used'), at, at);
    }
  }

  const bytesOf = (...which: readonly number[]): number => which.reduce((sum, number) => sum + engineBytes(number), 0);

  test('those used longest ago go first, and no more than need be', async () => {
    age();
    const size = String(bytesOf(2, 3));
    const dry = await engines('gc', '--max-size', size, ...SPARE_NONE, '--dry-run');
    expect([dry.code, numbers()]).toEqual([0, [1, 2, 3]]);
    expect(dry.stdout).toContain(`would remove ${keyOf()} small fp16`);
    expect([(await engines('gc', '--max-size', size, ...SPARE_NONE)).code, numbers()]).toEqual([0, [2, 3]]);
  });

  test('pinned ones stay, and are named', async () => {
    age();
    const key = keyOf();
    expect((await engines('pin', `${key}-1`)).stdout).toContain('is pinned: gc keeps it');
    const { stdout } = await engines('gc', '--max-size', '1', ...SPARE_NONE);
    expect([numbers(), stdout]).toEqual([[1], expect.stringContaining(`kept ${key} small fp16`)]);
    expect(stdout).toContain('it is pinned');
    await engines('unpin', `${key}-1`);
    await engines('gc', '--max-size', '1', ...SPARE_NONE);
    expect(numbers()).toEqual([]);
  });

  test('what newer engines may be compared with stays, as far as it fits', async () => {
    const { stdout } = await engines('gc', '--max-size', '1');
    expect(stdout).toContain('290 B: a cell may be compared with it (--keep-last-good)');
    // Two of each cell, and the cells may have run the three in any order.
    const [kept = 0, ...others] = numbers();
    expect(others.length).toBeGreaterThanOrEqual(1);
    await engines('gc', '--max-size', '1', '--keep-last-good', String(bytesOf(kept)));
    expect(numbers()).toHaveLength(1);
  });

  test('what another store beside them may compare with stays', async () => {
    const other = join(folder, 'other.sqlite');
    writeFileSync(other, '');
    const second = enginesBeside(db)[1]?.note.buildId ?? '';
    await new EngineCache(join(folder, 'engines')).keepFor(other, [second]);
    const { stdout } = await engines('gc', '--max-size', '1', ...SPARE_NONE);
    expect(numbers()).toEqual([2]);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`a cell of ${other} may be compared with it`);
  });

  test('the timing cache of an engine counts with it, and goes with it or when it is left alone', async () => {
    const caches = [file(1, '.cache'), join(folder, 'engines', `${'0'.repeat(32)}.cache`)];
    for (const cache of caches) writeFileSync(cache, 'x'.repeat(5000));
    const text = '3 engines, 741 B · timing caches 4.97 KiB · 1 file of no engine, 4.88 KiB';
    expect((await bench(['ls', 'engines', '--db', db])).stdout).toContain(text);
    const bytesBefore = engineBytes(1) + engineBytes(2) + engineBytes(3) + 5000;
    const gc = await engines('gc', '--max-size', '4kB', ...SPARE_NONE, '--json');
    expect(JSON.parse(gc.stdout)).toMatchObject({ bytesBefore, removedFiles: [{ path: caches[1] }] });
    expect([...caches.map((cache) => existsSync(cache)), numbers().includes(1)]).toEqual([false, false, false]);
  });
});

test.each([
  [['rm', 'ffffffff'], 'no engine ffffffff: `bench ls engines` shows their keys'],
  [['pin', 'a'], 'no engine a: `bench ls engines` shows their keys'],
  [['gc', '--max-size', 'much'], '--max-size'],
])('%j is one line', async (args, said) => expect(await engines(...args)).toEqual(refusal(said)));
