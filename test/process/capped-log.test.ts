import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { CappedLog } from '../../src/process/capped-log.ts';
import { temporaryFolder } from '../support/bench.ts';

/** 100 bytes with their number. */
const line = (number: number): string => `${String(number).padStart(99, '.')}\n`;
const lines = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => line(from + at)).join('');

/** Nobody else writes. */
const NOBODY = { stop: () => {}, goOn: () => {} };

/** What is left of a log of `count` lines that is looked at after every `step` of them, with a cap of 2000 bytes. */
function logOf(count: number, step: number): { kept: string; path: string } {
  const path = join(temporaryFolder(), 'out.log');
  const log = new CappedLog(path, NOBODY, 2000);
  for (let at = 0; at < count; at += step) {
    appendFileSync(path, lines(at, Math.min(count, at + step)));
    log.take();
  }
  log.finish();
  return { kept: readFileSync(path, 'utf8'), path };
}

describe('a log that a process writes by itself', () => {
  test.each([1, 7, 30])('is whole up to its cap, looked at after every %i lines', (step) => {
    expect(logOf(20, step).kept).toBe(lines(0, 20));
  });

  test.each([
    [100, 1],
    [100, 7],
    [137, 31],
    [1000, 999],
    [1000, 1000],
    [5000, 40],
  ])('of %i lines, looked at after every %i, keeps its first and its last ten', (count, step) => {
    const { kept, path } = logOf(count, step);
    const [, head, bytes, tail] =
      /^([^[]*)\[bench\] at least (\d+) bytes were left out here\n([^[]*)$/.exec(kept) ?? [];
    expect(head).toBe(lines(0, 10));
    expect(lines(0, count).endsWith(tail ?? '-')).toBe(true);
    expect(tail?.length).toBeGreaterThanOrEqual(900);
    expect(tail?.length).toBeLessThanOrEqual(1000);
    // Nobody wrote while it was cut: the number is exact.
    expect(Number(bytes)).toBe(count * 100 - 1000 - (tail?.length ?? 0));
    expect(existsSync(`${path}.tail`)).toBe(false);
  });

  test('is cut while its process is stopped, and only then', () => {
    const path = join(temporaryFolder(), 'out.log');
    const said: string[] = [];
    const pause = { stop: () => said.push('stop'), goOn: () => said.push('go on') };
    const log = new CappedLog(path, pause, 2000);
    appendFileSync(path, lines(0, 30));
    log.take();
    expect(said).toEqual([]);
    appendFileSync(path, lines(30, 60));
    log.take();
    expect(said).toEqual(['stop', 'go on']);
    log.finish();
  });

  test('gives what is new, once', () => {
    const path = join(temporaryFolder(), 'out.log');
    const log = new CappedLog(path, NOBODY);
    appendFileSync(path, 'one\n');
    expect(log.take()).toEqual({ text: 'one\n', newBytes: 4 });
    expect(log.take()).toEqual({ text: '', newBytes: 0 });
    appendFileSync(path, 'two\n');
    expect(log.take()).toEqual({ text: 'two\n', newBytes: 4 });
    log.finish();
  });

  test('of one endless line is cut within it', () => {
    const path = join(temporaryFolder(), 'out.log');
    const log = new CappedLog(path, NOBODY, 2000);
    appendFileSync(path, 'x'.repeat(10_000));
    log.finish();
    const omitted = '\n[bench] at least 8000 bytes were left out here\n';
    expect(readFileSync(path, 'utf8').replace(omitted, '|')).toBe(`${'x'.repeat(1000)}|${'x'.repeat(1000)}`);
  });
});
