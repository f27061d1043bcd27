import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { CappedLog } from '../../src/process/spawn.ts';
import { temporaryFolder } from '../support/bench.ts';

/** 100 bytes with their number. */
const line = (number: number): string => `${String(number).padStart(99, '.')}\n`;
const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => line(from + at)).join('');

/** What is left of a log of `count` lines with a cap of 2000 bytes. */
function logOf(count: number): string {
  const path = join(temporaryFolder(), 'out.log');
  const log = new CappedLog(path, 2000);
  appendFileSync(path, lines(0, count));
  log.finish();
  return readFileSync(path, 'utf8');
}

describe('a log that a process writes by itself', () => {
  test('is whole up to its cap', () => {
    expect(logOf(20)).toBe(lines(0, 20));
  });

  test.each([21, 5000])('of %i lines keeps its first and its last ten', (count) => {
    const kept = logOf(count);
    const [, head, bytes, tail] =
      /^([^[]*)\[bench\] at least (\d+) bytes were left out here\n([^[]*)$/.exec(kept) ?? [];
    expect(head).toBe(lines(0, 10));
    expect(lines(0, count).endsWith(tail ?? '-')).toBe(true);
    expect(tail?.length).toBeGreaterThanOrEqual(900);
    expect(tail?.length).toBeLessThanOrEqual(1000);
    expect(Number(bytes)).toBe(count * 100 - 1000 - (tail?.length ?? 0));
  });

  test('gives what is new, once', () => {
    const path = join(temporaryFolder(), 'out.log');
    const log = new CappedLog(path);
    appendFileSync(path, 'one\n');
    expect(log.take()).toEqual({ text: 'one\n', size: 4 });
    expect(log.take()).toEqual({ text: '', size: 4 });
    appendFileSync(path, 'two\n');
    expect(log.take()).toEqual({ text: 'two\n', size: 8 });
    log.finish();
  });

  test('of one endless line is cut within it', () => {
    const path = join(temporaryFolder(), 'out.log');
    const log = new CappedLog(path, 2000);
    appendFileSync(path, 'x'.repeat(10_000));
    log.finish();
    const omitted = '\n[bench] at least 8000 bytes were left out here\n';
    expect(readFileSync(path, 'utf8').replace(omitted, '|')).toBe(`${'x'.repeat(1000)}|${'x'.repeat(1000)}`);
  });
});
