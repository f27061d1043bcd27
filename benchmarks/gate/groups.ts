import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Row, Target } from '../row.ts';
import { sized } from '../timing.ts';
import { checkedAfter, type Morning, news, removeStore, share } from './morning.ts';
import { type Disturbance, type Noise, simulateSweeps, type SimulatedSweeps } from './simulate-sweeps.ts';

/** As of the prototype: machine noise, both precisions apart by .08 % in each sweep, and bursts of the whole machine. */
const NOISE: Noise = { run: 0.003, sweep: 0.003, machine: 0.002, precision: 0.0008, bursts: 0.01, cells: 0.5 };

const CELLS = sized(200, 40);
const PAST = sized(60, 24);
const MATRICES = sized(50, 1);

type Finding = Morning['findings'][number];

interface GroupChange {
  readonly what: string;
  readonly target: Target;
  readonly percent: number;
  readonly isAffected: Disturbance['isAffected'];
  readonly newDriver?: number;
  readonly isNamed: (finding: Finding) => boolean;
}

const FP8 = {
  isAffected: ({ precision }) => precision === 'fp8',
  isNamed: ({ group }) => group.join(' ') === 'fp8',
} as const satisfies Partial<GroupChange>;

const CHANGES: readonly GroupChange[] = [
  { ...FP8, what: 'all fp8 +1 %', target: { atLeast: 90 }, percent: 1 },
  { ...FP8, what: 'all fp8 +3 %', target: { atLeast: 100 }, percent: 3 },
  {
    what: 'all cells +3 %, new driver',
    target: { atLeast: 100 },
    percent: 3,
    isAffected: () => true,
    newDriver: PAST,
    isNamed: ({ environmentChanges }) => environmentChanges.some((change) => change.includes('driver')),
  },
];

/** Changes of a group of cells, each in the newest sweep of many matrices: reported in that sweep. */
export async function groupChanges(folder: string): Promise<Row[]> {
  const [before, path] = [join(folder, 'before.sqlite'), join(folder, 'changed.sqlite')];
  const found = CHANGES.map((change) => ({ ...change, reported: 0, named: 0 }));
  for (let seed = 1; seed <= MATRICES; seed += 1) {
    const simulated: SimulatedSweeps = { cells: CELLS, repeats: 3, seed, noise: NOISE, disturbances: [] };
    simulateSweeps(before, simulated, 0, PAST);
    for (const change of found) {
      const { isAffected, newDriver = Infinity, percent } = change;
      copyFileSync(before, path);
      const disturbances = [{ what: 'time', from: PAST, percent, isAffected }] as const;
      simulateSweeps(path, { ...simulated, disturbances, newDriver }, PAST, 1);
      const worse = news(await checkedAfter(path, PAST)).filter(({ direction }) => direction === 'slower');
      change.reported += Number(worse.some(({ cells }) => cells.length >= CELLS / 4));
      change.named += Number(worse.length === 1 && worse.some(change.isNamed));
      removeStore(path);
    }
    removeStore(before);
  }
  const against = `${MATRICES} matrices of ${CELLS} cells`;
  return found.map(({ what, target, reported, named }) => {
    const theirs = `alone, and named: ${named}`;
    return share(`${what}: reported in the first sweep`, against, [reported, MATRICES], target, theirs);
  });
}
