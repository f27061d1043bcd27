import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { KILL_KINDS } from '../../benchmarks/kills/kill-kinds.ts';
import { killSweeps } from '../../benchmarks/kills/kill-sweeps.ts';
import { halfEngines } from '../../benchmarks/kills/leftovers.ts';
import { seededRandom } from '../../src/matrix/plan/order.ts';
import { temporaryFolder } from '../support/bench.ts';

/** `node benchmarks/kills.ts` does 200 of each. */
const KILLS = 2;

test.each(KILL_KINDS)(
  '$name at random moments, then --resume: the same cells, runs, values and artefacts as without it',
  async (kind) => {
    const report = await killSweeps(temporaryFolder(), kind, KILLS, seededRandom(2026));
    expect(report.problems).toEqual([]);
    expect(report.kills).toBe(KILLS);
  },
  300_000,
);

test('half an engine is found', () => {
  const folder = temporaryFolder();
  const [half, unknown] = ['a0', 'b1'].map((digits) => digits.repeat(32));
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ links: { one: { sha256: half } } }));
  writeFileSync(join(folder, `${half}.plan`), 'half');
  writeFileSync(join(folder, `${unknown}.plan`), 'no link');
  writeFileSync(join(folder, 'c2.building-17'), '');
  expect(halfEngines(folder)).toEqual([
    `engines: ${half}.plan is not what was built`,
    `engines: ${unknown}.plan is not in the index`,
    'engines: c2.building-17 is left over',
  ]);
});
