import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { outcomeReason } from '../../../src/records/outcome.ts';
import { derive } from '../../../src/trtexec/log/derived.ts';
import type { TrtexecRun } from '../../../src/trtexec/log/run-builder.ts';
import { onlyRun } from '../../support/recordings.ts';
import { judged } from '../../support/whole-files.ts';

/** From the log of a Jetson with TensorRT 7, `--batch=4`: the trace of two groups of its 667 queries, and its summary. */
const JETSON = readFileSync(join(import.meta.dirname, 'lines', 'jetson.txt'), 'utf8');

/** TensorRT 8.4, without a banner and a warmup. */
const TEGRA = readFileSync(join(import.meta.dirname, 'lines', 'tegra.txt'), 'utf8');

function outcomeOf(run: TrtexecRun): string {
  const outcome = judged(run, { role: 'timed' });
  return [outcome.kind, outcomeReason(outcome) ?? ''].join(' ').trim();
}

const parse = (text: string) => onlyRun(Buffer.from(text));

describe('an implicit batch of N: trtexec counts images', () => {
  test('counts and throughput are divided by N, items are the images', () => {
    const run = parse(JETSON);
    expect(run).toMatchObject({
      queries: 667,
      warmUpQueries: 41,
      measurement: { throughputQps: 221.5 },
      derived: {
        queries: '2668 images / batch 4',
        warmUpQueries: '164 images / batch 4',
        throughputQps: '886 images / batch 4',
      },
    });
    expect([derive(run, null).itemsPerS, outcomeOf(run)]).toEqual([886, 'measured']);
  });

  test('N of the last line alone, where the log has no other', () => {
    const run = parse(TEGRA);
    expect([derive(run, null).queries, derive(run, null).itemsPerS, run.warmUpQueries]).toEqual([7707, 41087.7, null]);
    expect(outcomeOf(run)).toBe('measured');
  });

  test('a count that fits the times as it is was not changed by the flag', () => {
    const run = parse(JETSON.replace('2668 queries', '667 queries').replace('886 qps', '221.5 qps'));
    expect(run).toMatchObject({ queries: 667, warmUpQueries: 164, derived: {}, imagesPerQuery: null });
    expect(outcomeOf(run)).toBe('measured');
  });

  test('where neither fits the run is refused', () => {
    const run = parse(JETSON.replaceAll('batch=4', 'batch=8').replace('Batch: 4', 'Batch: 8'));
    expect(outcomeOf(run)).toBe('unfit suspectErrors');
    expect(run.contradiction).toBe('2668 queries of 4.34033 ms are not a total GPU compute time of 2.895 s');
  });
});

test('TensorRT 7 multiplies the counts of explicit batches by 0: the times say how many', () => {
  const explicit = JETSON.replaceAll(' --batch=4', ' --explicitBatch')
    .replace('Batch: 4', 'Batch: Explicit')
    .replace('164 queries', '0 queries')
    .replace('2668 queries', '0 queries')
    .replace('886 qps', '0 qps');
  const run = parse(explicit);
  const derived = { queries: '2.895 s / 4.34033 ms', throughputQps: '667 queries / 3.01129 s' };
  expect(run).toMatchObject({ queries: 667, warmUpQueries: null, derived });
  expect([run.measurement?.throughputQps, outcomeOf(run)]).toEqual([expect.closeTo(667 / 3.01129, 10), 'measured']);
});

test('the count of a rate has its formula, too', () => {
  expect(parse(TEGRA).derived['queries']).toBe('41087.7 qps × 3.00119 s / batch 16');
  const plain = TEGRA.replace('41087.7', '2567.98').replace(' --batch=16', '');
  const expected = [7707, { queries: '2567.98 qps × 3.00119 s' }];
  expect([derive(parse(plain), null).queries, parse(plain).derived]).toEqual(expected);
});

describe('an excerpt', () => {
  const without = (text: string, ...lost: readonly string[]): string =>
    text
      .split('\n')
      .filter((line) => !lost.some((part) => line.includes(part)))
      .join('\n');

  test('without a walltime is no measurement, and keeps its numbers', () => {
    const run = parse(without(TEGRA, 'Walltime'));
    expect([run.measurement, outcomeOf(run)]).toEqual([null, 'unfit excerpt']);
    expect(run.excerpt).toMatchObject({ throughputQps: 41087.7, gpuComputeMs: { median: 0.388443 } });
  });

  test('without total or mean nobody can tell queries from images', () => {
    expect(outcomeOf(parse(JETSON.replace(/.*mean: 4.34033 ms\n/, '')))).toBe('unfit excerpt');
    const run = parse(without(JETSON, 'total compute time'));
    expect([outcomeOf(run), run.excerpt]).toMatchObject(['unfit excerpt', { latencyMs: { median: 4.44601 } }]);
    // Nor whether there were any images, where the line that says the batch is lost, too.
    expect(outcomeOf(parse(without(TEGRA, 'PASSED', 'Total GPU')))).toBe('unfit excerpt');
    expect(outcomeOf(parse(without(TEGRA, 'PASSED').replace('mean = 0.388221 ms, ', '')))).toBe('unfit excerpt');
  });
});
