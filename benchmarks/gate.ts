import { join } from 'node:path';

import { groupChanges } from './gate/groups.ts';
import { worseMetrics } from './gate/metrics.ts';
import { CALM, simulateSweeps } from './gate/simulate-sweeps.ts';
import { bench } from './processes.ts';
import { absolute, type Benchmark, type Row } from './row.ts';
import { inTemporaryFolder, sized } from './timing.ts';
import { median } from '../src/statistics/order-statistics.ts';

/** What the gate reports, and when: simulated sweeps in a store, and `bench check` after each of them. */
export const gate: Benchmark = {
  name: 'gate',
  run: () =>
    inTemporaryFolder(async (folder) => {
      const rows: Row[] = [];
      for (const part of [groupChanges, worseMetrics, largeStore]) {
        rows.push(...(await part(folder)));
      }
      return rows;
    }),
};

const CELLS = sized(2000, 40);
const SWEEPS = sized(45, 24);
const ROUNDS = sized(5, 1);

/** The time that the check of a large store takes. */
async function largeStore(folder: string): Promise<Row[]> {
  const path = join(folder, 'large.sqlite');
  const simulated = { cells: CELLS, repeats: 3, seed: 1, noise: { ...CALM, cells: 0.5 }, disturbances: [] };
  simulateSweeps(path, simulated, 0, SWEEPS);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    times.push((await bench(['check', '--db', path], { cwd: folder }, [0, 1])).wallMs);
  }
  const what = `bench check, ${CELLS} cells, ${SWEEPS} sweeps of 3 runs`;
  const ours = `median of ${ROUNDS}`;
  return [absolute(what, (median(times) ?? 0) / 1000, ' s', { atMost: 0.96 }, { ours })];
}
