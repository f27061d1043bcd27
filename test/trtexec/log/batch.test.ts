import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { outcomeReason } from '../../../src/records/outcome.ts';
import { derive } from '../../../src/trtexec/log/derived.ts';
import type { TrtexecRun } from '../../../src/trtexec/log/parsed-log.ts';
import { onlyRun } from '../../support/recordings.ts';
import { judged } from '../../support/whole-files.ts';

/** TensorRT 8.4, `--batch=16`, without a banner and a warmup. */
const TEGRA = readFileSync(join(import.meta.dirname, 'lines', 'tegra.txt'), 'utf8');

function outcomeOf(run: TrtexecRun): string {
  const outcome = judged(run, { role: 'timed' });
  return [outcome.kind, outcomeReason(outcome) ?? ''].join(' ').trim();
}

const parse = (text: string) => onlyRun(Buffer.from(text));

describe('an implicit batch of N: trtexec counts images', () => {
  test('counts and throughput are divided by N, items are the images', () => {
    const run = parse(TEGRA);
    expect([derive(run, null).queries, derive(run, null).itemsPerS, run.warmUpUnknown]).toEqual([7707, 41087.7, true]);
    expect(run.measurement?.throughputQps).toBeCloseTo(41087.7 / 16, 6);
    expect(run.derived).toEqual({
      queries: '41087.7 qps × 3.00119 s / batch 16',
      throughputQps: '41087.7 images / batch 16',
    });
    expect(outcomeOf(run)).toBe('measured');
  });

  test('a count that fits the times as it is was not changed by the flag', () => {
    const run = parse(TEGRA.replace('41087.7', '2567.98'));
    expect(run).toMatchObject({ derived: { queries: '2567.98 qps × 3.00119 s' }, imagesPerQuery: null });
    expect([derive(run, null).queries, outcomeOf(run)]).toEqual([7707, 'measured']);
  });

  test('where neither fits the run is refused with both numbers', () => {
    const run = parse(TEGRA.replaceAll('batch=16', 'batch=32'));
    expect(outcomeOf(run)).toBe('unfit suspectErrors');
    expect(run.contradiction).toBe('123312 queries, or 3853.5 of batch 32, do not fit 2.99202 s / 0.388221 ms = 7707');
  });
});

describe('an excerpt', () => {
  const without = (...lost: readonly string[]): string =>
    TEGRA.split('\n')
      .filter((line) => !lost.some((part) => line.includes(part)))
      .join('\n');

  test('without a walltime is no measurement, and keeps its numbers', () => {
    const run = parse(without('Walltime'));
    expect([run.measurement, outcomeOf(run)]).toEqual([null, 'unfit excerpt']);
    expect(run.excerpt).toMatchObject({ throughputQps: 41087.7, gpuComputeMs: { median: 0.388443 } });
  });

  test('without total or mean nobody can tell queries from images', () => {
    expect(outcomeOf(parse(without('PASSED', 'Total GPU')))).toBe('unfit excerpt');
    expect(outcomeOf(parse(without('PASSED').replace('mean = 0.388221 ms, ', '')))).toBe('unfit excerpt');
  });
});
