import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { readArrays } from '../../src/variants/npz-read.ts';
import { writeNpz } from '../../src/variants/npz-write.ts';
import { randomCalibration } from '../../src/variants/random-calibration.ts';
import { sha256OfFile } from '../../src/artefacts/files.ts';
import { FiniteCheck, readNpyHeader, writeNpyHeader } from '../../src/variants/npy.ts';
import { ROOT, temporaryFolder } from '../support/bench.ts';

/** Written by numpy 2.4.6 with the script beside them. */
const FOLDER = join(ROOT, 'test', 'fixtures', 'calibration');
const GOOD = { name: 'input', descr: '<f4', shape: [8, 3, 4, 4], notFinite: 0 };

describe('what numpy wrote', () => {
  test.for([
    ['good.npz', [GOOD]],
    ['compressed.npz', [GOOD]],
    ['single.npy', [{ ...GOOD, name: '' }]],
    ['double.npz', [{ ...GOOD, descr: '<f8' }]],
    ['extra.npz', [GOOD, { ...GOOD, name: 'mask' }]],
    ['wrong_shape.npz', [{ ...GOOD, shape: [8, 3, 2, 2] }]],
    ['empty.npz', [{ ...GOOD, shape: [0, 3, 4, 4] }]],
    ['nan.npz', [{ ...GOOD, notFinite: 2 }]],
    ['half.npz', [{ name: 'input', descr: '<f2', shape: [2, 2], notFinite: 2 }]],
    ['objects.npz', [{ name: 'input', descr: '|O', shape: [1], notFinite: 0 }]],
    ['ids.npz', [{ name: 'input', descr: '<i8', shape: [2, 2], notFinite: 0 }]],
  ] as const)('%s', async ([file, arrays]) => {
    expect(await readArrays(join(FOLDER, file))).toEqual(arrays);
  });
});

describe('files that are none', () => {
  async function problemOf(bytes: Buffer, name = 'x.npz'): Promise<string> {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, bytes);
    return readArrays(path).then(
      () => 'no problem',
      (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : 'thrown'),
    );
  }
  const good = readFileSync(join(FOLDER, 'good.npz'));

  test('text, nothing, a cut file', async () => {
    const none = 'NumpyFormatError: it is no npz file (numpy.savez writes them), or it is cut short';
    expect(await problemOf(Buffer.from('hello'))).toBe(none);
    expect(await problemOf(Buffer.alloc(0))).toBe(none);
    expect(await problemOf(good.subarray(0, good.length - 30))).toBe(none);
    expect(await problemOf(Buffer.from('hello, this is text'), 'x.npy')).toBe(
      'NumpyFormatError: the file is no array of numpy',
    );
    expect(await problemOf(Buffer.alloc(3), 'x.npy')).toContain('or it is cut short');
  });

  test('a directory that points outside, an entry that is not there', async () => {
    const end = good.length - 22;
    const far = Buffer.from(good);
    far.writeUInt32LE(0x7fff_ffff, end + 16);
    expect(await problemOf(far)).toBe('NumpyFormatError: its directory is damaged');
    const moved = Buffer.from(good);
    moved.writeUInt32LE(7, moved.readUInt32LE(end + 16) + 42);
    expect(await problemOf(moved)).toBe('NumpyFormatError: input.npy is not where its directory says');
  });

  test('any byte that is wrong gives an answer or a fault of the format, nothing else', async () => {
    const compressed = readFileSync(join(FOLDER, 'compressed.npz'));
    const folder = temporaryFolder();
    for (let at = 0; at < compressed.length; at += 7) {
      const bytes = Buffer.from(compressed);
      bytes[at] = (bytes[at] ?? 0) ^ 0x5a;
      const path = join(folder, 'x.npz');
      writeFileSync(path, bytes);
      const outcome = await readArrays(path).then(
        () => 'read',
        (error: unknown) => (error instanceof Error ? error.name : 'thrown'),
      );
      expect(['read', 'NumpyFormatError'], `byte ${at}`).toContain(outcome);
    }
  });
});

describe('random calibration data', () => {
  const inputs = [
    { name: 'pixels', elementType: 'float32', shape: [4, 3, 8, 8] },
    { name: 'half', elementType: 'float16', shape: [4, 5] },
    { name: 'ids', elementType: 'int64', shape: [4, 7] },
  ];

  async function written(seed: number): Promise<string> {
    const path = join(temporaryFolder(), 'calibration.npz');
    await writeNpz(path, randomCalibration(inputs, 8, seed));
    return path;
  }

  test('whole steps of at least so many samples, of the types of the inputs', async () => {
    const path = await written(1);
    expect(await readArrays(path)).toEqual([
      { name: 'pixels', descr: '<f4', shape: [8, 3, 8, 8], notFinite: 0 },
      { name: 'half', descr: '<f2', shape: [8, 5], notFinite: 0 },
      { name: 'ids', descr: '<i8', shape: [8, 7], notFinite: 0 },
    ]);
  });

  test('the same bytes for the same seed, on every machine; others for another', async () => {
    const hashes = await Promise.all([1, 1, 2].map(async (seed) => sha256OfFile(await written(seed))));
    expect(hashes[0]?.sha256).toBe('2b5c28a6cda40684e1cc801a7c68ea57511f09a388d4103abdecd37dcfecf024');
    expect(hashes[1]?.sha256).toBe(hashes[0]?.sha256);
    expect(hashes[2]?.sha256).not.toBe(hashes[0]?.sha256);
  });

  test('floats have mean 0 and deviation 1, whole numbers are 0 and 1', () => {
    const arrays = randomCalibration([{ name: 'x', elementType: 'float32', shape: [1, 20_000] }], 1, 3);
    const bytes = arrays[0]?.values() ?? Buffer.alloc(0);
    const values = Array.from({ length: 20_000 }, (_, place) => bytes.readFloatLE(4 * place));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
    expect(Math.abs(mean)).toBeLessThan(0.03);
    expect(Math.abs(variance - 1)).toBeLessThan(0.05);
    const [ids] = randomCalibration([{ name: 'x', elementType: 'int32', shape: [1, 50] }], 1, 3);
    const buffer = ids?.values() ?? Buffer.alloc(0);
    const whole = Array.from({ length: 50 }, (_, place) => buffer.readInt32LE(4 * place));
    expect([...new Set(whole)].toSorted()).toEqual([0, 1]);
  });
});

test('the header is the one that numpy writes', () => {
  const numpy = readFileSync(join(FOLDER, 'single.npy'));
  const ours = writeNpyHeader('<f4', [8, 3, 4, 4]);
  expect(ours.equals(numpy.subarray(0, ours.length))).toBe(true);
  expect(readNpyHeader(writeNpyHeader('<i8', [5]))).toEqual({ descr: '<i8', shape: [5], dataAt: 128 });
  expect(readNpyHeader(writeNpyHeader('|b1', []))?.shape).toEqual([]);
});

test('values that are not finite are found wherever the pieces are cut', () => {
  const bytes = Buffer.alloc(8 * 4);
  [1, NaN, -Infinity, 3.4e38, 0, -0, 1e-45, Infinity].forEach((value, place) => bytes.writeFloatLE(value, 4 * place));
  for (let cut = 1; cut < bytes.length; cut += 1) {
    const check = new FiniteCheck('<f4');
    for (let at = 0; at < bytes.length; at += cut) check.push(bytes.subarray(at, at + cut));
    expect(check.notFinite, `pieces of ${cut}`).toBe(3);
  }
});

test('an array with fewer values than its header says', async () => {
  const path = join(temporaryFolder(), 'x.npy');
  writeFileSync(path, readFileSync(join(FOLDER, 'single.npy')));
  truncateSync(path, statSync(path).size - 100);
  await expect(readArrays(path)).rejects.toThrow('the file is cut short');
});
