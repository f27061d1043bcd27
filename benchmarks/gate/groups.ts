import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Row, Target } from '../row.ts';
import { sized } from '../size.ts';
import { share } from './figures.ts';
import { checkedAfter, type Morning, newlyWorse, removeStore } from './morning.ts';
import { type Disturbance, type Noise, simulateSweeps, type SimulatedSweeps } from './simulate-sweeps.ts';

/** As of the prototype: machine noise, both precisions apart by .08 % in each sweep, and bursts of the whole machine. */
const NOISE: Noise = { run: 0.003, sweep: 0.003, machine: 0.002, precision: 0.0008, bursts: 0.01, cells: 0.5 };

const CELLS = sized(200, 40);
const PAST = sized(60, 24);
const MATRICES = sized(50, 1);

function disturbed(percent: number, isAffected: Disturbance['isAffected']): readonly Disturbance[] {
  return [{ what: 'time', from: PAST, percent, isAffected }];
}

interface GroupChange {
  readonly what: string;
  readonly target: Target;
  readonly disturbances: readonly Disturbance[];
  readonly newDriver?: number;
  readonly isNamed: (finding: Morning['findings'][number]) => boolean;
}

const isFp8 = (finding: Morning['findings'][number]): boolean => finding.group.join(' ') === 'fp8';
const isOfDriver = ({ environmentChanges }: Morning['findings'][number]): boolean =>
  environmentChanges.some((change) => change.includes('driver'));

const CHANGES: readonly GroupChange[] = [
  {
    what: 'all fp8 +1 %: reported in the first sweep',
    target: { atLeast: 90 },
    disturbances: disturbed(1, ({ precision }) => precision === 'fp8'),
    isNamed: isFp8,
  },
  {
    what: 'all fp8 +3 %: reported in the first sweep',
    target: { atLeast: 100 },
    disturbances: disturbed(3, ({ precision }) => precision === 'fp8'),
    isNamed: isFp8,
  },
  {
    what: 'all cells +3 %, new driver: reported in the first sweep',
    target: { atLeast: 100 },
    disturbances: disturbed(3, () => true),
    newDriver: PAST,
    isNamed: isOfDriver,
  },
];

/** Changes of a group of cells, each in the newest sweep of many matrices. */
export async function groupChanges(folder: string): Promise<Row[]> {
  const found = CHANGES.map(() => ({ reported: 0, named: 0 }));
  for (let seed = 1; seed <= MATRICES; seed += 1) {
    const simulated: SimulatedSweeps = { cells: CELLS, repeats: 3, seed, noise: NOISE, disturbances: [] };
    const before = join(folder, 'before.sqlite');
    simulateSweeps(before, simulated, 0, PAST);
    for (const [place, { disturbances, newDriver, isNamed }] of CHANGES.entries()) {
      const path = join(folder, 'changed.sqlite');
      copyFileSync(before, path);
      const changed = newDriver === undefined ? { disturbances } : { disturbances, newDriver };
      simulateSweeps(path, { ...simulated, ...changed }, PAST, 1);
      const worse = newlyWorse(await checkedAfter(path, PAST));
      const counted = found[place];
      const isReported = worse.some(({ cells }) => cells.length >= CELLS / 4);
      if (counted !== undefined && isReported) counted.reported += 1;
      if (counted !== undefined && worse.length === 1 && worse.some(isNamed)) counted.named += 1;
      removeStore(path);
    }
    removeStore(before);
  }
  return CHANGES.map(({ what, target }, place) => {
    const { reported = 0, named = 0 } = found[place] ?? {};
    return share({
      what,
      against: `${MATRICES} matrices of ${CELLS} cells`,
      count: reported,
      of: MATRICES,
      target,
      theirs: `alone, and named: ${named}`,
    });
  });
}

/** A group of a matrix: its precisions, models and batches. The two precisions are one contrast. */
const GROUPS = 2 + 10 + Math.ceil(CELLS / 20);
const FALSE_MATRICES = sized(12, 1);
const MORNINGS = sized(20, 2);

/** No change: how often a group is said to be slower or faster. */
export async function falseGroups(folder: string): Promise<Row[]> {
  let [ofGroups, ofAll, ofCells] = [0, 0, 0];
  for (let matrix = 1; matrix <= FALSE_MATRICES; matrix += 1) {
    const path = join(folder, 'quiet.sqlite');
    const simulated = { cells: CELLS, repeats: 3, seed: 1000 + matrix, noise: NOISE, disturbances: [] };
    simulateSweeps(path, simulated, 0, PAST);
    await checkedAfter(path, PAST - 1);
    for (let sweep = PAST; sweep < PAST + MORNINGS; sweep += 1) {
      simulateSweeps(path, simulated, sweep, 1);
      const { findings } = await checkedAfter(path, sweep);
      const news = findings.filter(({ state }) => state === 'new');
      for (const { cells } of news) {
        if (cells.length >= 0.8 * CELLS) ofAll += 1;
        else if (cells.length > 2) ofGroups += 1;
        else ofCells += 1;
      }
    }
    removeStore(path);
  }
  const mornings = FALSE_MATRICES * MORNINGS;
  const ours = `${ofGroups} of ${GROUPS * mornings} group-mornings`;
  return [
    {
      kind: 'measured',
      what: 'no change: groups that were reported',
      against: `${FALSE_MATRICES} matrices, ${MORNINGS} sweeps each`,
      ratio: (5000 * ofGroups) / (GROUPS * mornings),
      unit: ' in 5,000',
      target: { atMost: 1 },
      ours,
      theirs: `all cells: ${ofAll}, single cells: ${ofCells}`,
    },
  ];
}
