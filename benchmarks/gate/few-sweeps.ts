import { join } from 'node:path';

import type { Row } from '../row.ts';
import { sized } from '../timing.ts';
import { mornings, news, removeStore, share } from './morning.ts';
import { CALM, type Noise } from './simulate-sweeps.ts';

const NOISE: Noise = { ...CALM, machine: 0 };
const SEEDS = sized(20, 1);
const LAST = sized(19, 4);

/** No change: in how many of the sweeps 2 to 19 the exit code is 1, without pairs. */
export async function fewSweeps(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  const path = join(folder, 'few.sqlite');
  for (const cells of [2, 8, 40]) {
    let alarms = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const checked = await mornings(path, { cells, repeats: 3, seed, noise: NOISE, disturbances: [] }, 0, LAST);
      alarms += checked.slice(1).filter(({ exitCode }) => exitCode !== 0).length;
      removeStore(path);
    }
    const what = `no change, ${cells} cells, sweeps 2 to ${LAST}: exit code 1`;
    const against = `${SEEDS} seeds, 3 runs, .2 % between sweeps`;
    rows.push(share(what, against, [alarms, SEEDS * (LAST - 1)], { atMost: 8 }));
  }
  return rows;
}

const STEP_SEEDS = sized(40, 1);
const STEP_CELLS = 40;

/** One of 40 cells 3 % slower from an early sweep on: reported in that sweep, and about as large as it was made. */
export async function earlySteps(folder: string): Promise<Row[]> {
  const rows: Row[] = [];
  const path = join(folder, 'step.sqlite');
  for (const nth of sized([3, 5, 10], [3])) {
    let found = 0;
    for (let seed = 1; seed <= STEP_SEEDS; seed += 1) {
      const changed = seed % STEP_CELLS;
      const isAffected = (_: unknown, place: number): boolean => place === changed;
      const disturbances = [{ what: 'time', from: nth - 1, percent: 3, isAffected }] as const;
      const simulated = { cells: STEP_CELLS, repeats: 3, seed, noise: NOISE, disturbances };
      const last = (await mornings(path, simulated, 0, nth)).at(-1);
      const details = (last === undefined ? [] : news(last))
        .filter(({ direction }) => direction === 'slower')
        .flatMap((finding) => finding.details);
      found += Number(
        details.some(
          ({ changePercent, metric }) => metric === 'gpuComputeMs' && changePercent > 1.5 && changePercent < 4.5,
        ),
      );
      removeStore(path);
    }
    const what = `one of ${STEP_CELLS} cells +3 % in sweep ${nth}: reported at once`;
    const against = `${STEP_SEEDS} seeds, 3 runs, .2 % between sweeps`;
    rows.push(share(what, against, [found, STEP_SEEDS], { atLeast: 90 }));
  }
  return rows;
}
