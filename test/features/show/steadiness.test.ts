import { join } from 'node:path';

import { expect, test } from 'vitest';

import { serialStatistics } from '../../../src/features/show/text.ts';
import { runsThatShow } from '../../../src/judge/run-noise.ts';
import { bench, ROOT, temporaryFolder } from '../../support/bench.ts';
import { sharedStore } from '../../support/made-stores.ts';
import { queryStore } from '../../support/store-dump.ts';

// scipy.stats.variation(x, ddof=1), the correlations by numpy, their initial positive sequence.
test.each([
  [
    'a slope',
    (i: number) => 1 + 0.0001 * i + (0.01 * ((i * 37) % 11)) / 11 + 0.02 * (Math.floor(i / 8) % 2),
    [0.011657409, 0.739474192, 39.444349015],
  ],
  ['turns', (i: number) => 1 + (i % 2 === 0 ? 0.1 : -0.1), [0.1002509414, -0.995, 200]],
  ['the same', () => 1, [0, 0, 200]],
])('of %s: variation, autocorrelation and effective sample size', (_, value, [cv = 0, lag1 = 0, effective = 0]) => {
  const found = serialStatistics(Array.from({ length: 200 }, (__, place) => value(place)));
  expect(found.cv).toBeCloseTo(cv, 9);
  expect(found.lag1).toBeCloseTo(lag1, 9);
  expect(found.effective).toBeCloseTo(effective, 6);
});

// The visible change by scipy.stats.t is 1.271, 0.897, 0.763 and 0.728 % with 1 to 4 runs.
test.each([
  [0.4, null],
  [2, 1],
  [1, 2],
  [0.75, 4],
])('runs of 0.25 %% of noise that show %d %%: %o', (percent, runs) => {
  expect(runsThatShow({ run: 0.0025, sweep: null, degrees: 40 }, percent)).toBe(runs);
});

test('of one run: how steady its queries are, and the least that shows 1 %', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  await bench(['import', join(ROOT, 'recordings/night2/nights_2_vit_small.fp16.b8.graph1'), '--db', db]);
  const [run] = queryStore<{ id: string }>(db, 'SELECT run_id AS id FROM runs');
  const { steadiness } = JSON.parse((await bench(['show', run?.id ?? '', '--db', db, '--json'])).stdout);
  // By numpy from times.json.
  expect(steadiness).toMatchObject({ queries: 2392, noiseFrom: 'queries', showsPercent: 1, repeats: 1 });
  expect(steadiness.cvPercent).toBeCloseTo(0.110318042, 8);
  expect(steadiness.driftPercent).toBeCloseTo(0.0071949, 6);
  expect(steadiness.autocorrelation).toBeCloseTo(0.0887653, 6);
  expect(steadiness.effectiveQueries).toBeCloseTo(138.795798, 5);
  const { stdout } = await bench(['show', run?.id ?? '', '--db', db]);
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    'repeats at least 1 run a side shows 1 %, by its queries alone: one run does not know the noise between runs',
  );
});

test('of a cell with several runs their noise counts, as bench noise has it', async () => {
  const db = await sharedStore('pair');
  const [run] = queryStore<{ id: string; cell: string }>(
    db,
    'SELECT run_id AS id, cell_key AS cell FROM samples JOIN runs USING (run_id) LIMIT 1',
  );
  const { cells } = JSON.parse((await bench(['noise', run?.cell ?? '', '--db', db, '--json'])).stdout);
  const { steadiness } = JSON.parse(
    (await bench(['show', run?.id ?? '', '--db', db, '--json', '--shows', '0.7'])).stdout,
  );
  expect(steadiness).toMatchObject({ noiseFrom: 'runs', showsPercent: 0.7, runPercent: cells[0].runPercent });
  expect(steadiness.repeats).toBe(3);
  expect(cells[0].visible[0].percent).toBeGreaterThan(0.7);
  expect(cells[0].visible[1].percent).toBeLessThan(0.7);
});
