import { join } from 'node:path';

import type { Row } from '../row.ts';
import { sized } from '../size.ts';
import { share } from './figures.ts';
import { checkedAfter, newlyWorse, removeStore } from './morning.ts';
import { CALM, type Noise, simulateSweeps } from './simulate-sweeps.ts';

const NOISE: Noise = { ...CALM, machine: 0 };
const SEEDS = sized(20, 1);
const LAST = sized(19, 4);

/** No change: in how many of the sweeps 2 to 19 the exit code is 1, without pairs. */
export async function fewSweeps(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const cells of [2, 8, 40]) {
    let [checks, alarms] = [0, 0];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const path = join(folder, 'few.sqlite');
      const simulated = { cells, repeats: 3, seed, noise: NOISE, disturbances: [] };
      for (let sweep = 0; sweep < LAST; sweep += 1) {
        simulateSweeps(path, simulated, sweep, 1);
        const { exitCode } = await checkedAfter(path, sweep);
        if (sweep === 0) continue;
        checks += 1;
        alarms += exitCode === 0 ? 0 : 1;
      }
      removeStore(path);
    }
    rows.push(
      share({
        what: `no change, ${cells} cells, sweeps 2 to ${LAST}: exit code 1`,
        against: `${SEEDS} seeds, 3 runs, .2 % between sweeps`,
        count: alarms,
        of: checks,
        target: { atMost: 8 },
      }),
    );
  }
  return rows;
}

const STEP_SEEDS = sized(40, 1);
const STEP_CELLS = 40;

/** One of 40 cells 3 % slower from an early sweep on: reported in that sweep. */
export async function earlySteps(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  for (const nth of sized([3, 5, 10], [3])) {
    let found = 0;
    for (let seed = 1; seed <= STEP_SEEDS; seed += 1) {
      const path = join(folder, 'step.sqlite');
      const changed = seed % STEP_CELLS;
      const simulated = {
        cells: STEP_CELLS,
        repeats: 3,
        seed,
        noise: NOISE,
        disturbances: [
          { what: 'time', from: nth - 1, percent: 3, isAffected: (_: unknown, place: number) => place === changed },
        ] as const,
      };
      const worse = [];
      for (let sweep = 0; sweep < nth; sweep += 1) {
        simulateSweeps(path, simulated, sweep, 1);
        worse.push(newlyWorse(await checkedAfter(path, sweep)));
      }
      found += (worse.at(-1) ?? []).some(({ details }) => details.some(isStep)) ? 1 : 0;
      removeStore(path);
    }
    rows.push(
      share({
        what: `one of ${STEP_CELLS} cells +3 % in sweep ${nth}: reported at once`,
        against: `${STEP_SEEDS} seeds, 3 runs, .2 % between sweeps`,
        count: found,
        of: STEP_SEEDS,
        target: { atLeast: 90 },
      }),
    );
  }
  return rows;
}

/** Of the time, and about as large as it was made. */
function isStep({ metric, changePercent }: { readonly metric: string; readonly changePercent: number }): boolean {
  return metric === 'gpuComputeMs' && changePercent > 1.5 && changePercent < 4.5;
}
