import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { engineName } from '../../../engines/engine-index.ts';
import type { OpenStore } from '../../../store/file/open.ts';
import { engineKeysOf } from '../../../store/runs/runs.ts';
import { sweepsAtCommit } from '../../../store/sweeps/find-sweeps.ts';
import { count, formatDuration } from '../../../terminal/numbers.ts';
import { BUILD_ESTIMATE_S } from '../../../matrix/plan/estimate.ts';
import type { PlannedSide } from './plan-both.ts';
import { type Enough, type PairedCell, roundsOf } from './rounds.ts';

/** What a measurement will take, from the estimates of the plans and earlier runs. */
export function costText(
  store: OpenStore,
  sides: readonly PlannedSide[],
  cells: readonly PairedCell[],
  { maxRepeats, repeats }: Enough,
  gpus: number,
  budgetS: number | null,
): string[] {
  const engines = sides.map((each) => enginesOf(store, each));
  const toBuild = engines.reduce((sum, { missing }) => sum + missing, 0);
  const seconds = (rounds: number): number =>
    cells.reduce((sum, cell) => {
      const left = Math.max(0, Math.min(rounds, cell.capacity) - roundsOf(cell));
      return sum + left * cell.roundS;
    }, 0) / gpus;
  const buildsS = sides.some(({ planned }) => planned.program.recordings === null) ? toBuild * BUILD_ESTIMATE_S : 0;
  const least = buildsS + seconds(repeats);
  const most = Math.min(buildsS + seconds(Math.max(repeats, maxRepeats)), Math.max(least, budgetS ?? Infinity));
  const runs = maxRepeats > repeats ? `${repeats} to ${maxRepeats} runs` : count(repeats, 'run');
  const stored = cells.reduce((sum, { base, head }) => sum + base.length + head.length, 0);
  const cached = engines.reduce((sum, { known }) => sum + known, 0);
  return [
    [
      `${count(cells.length, 'cell')}, ${runs} of each on both sides`,
      `${count(toBuild, 'engine')} to build${cached === 0 ? '' : `, ${cached} in the cache`}`,
      `about ${formatDuration(least)}${most > least ? `, at most ${formatDuration(most)}` : ''}`,
    ].join(' · '),
    ...(stored === 0 ? [] : [`${count(stored, 'run is', 'runs are')} stored from before; --force measures all again`]),
  ];
}

/** Engines of the plan that the cache has from when the same commit was measured before. */
function enginesOf({ db, path }: OpenStore, { planned, side }: PlannedSide) {
  const needed = planned.plan.builds.filter(({ enginePath }) => enginePath === null).length;
  const keys = planned.plan.cells.map(({ cell }) => cell.key);
  const made = sweepsAtCommit(db, side.named.commit).flatMap(({ sweepId }) => engineKeysOf(db, sweepId, keys));
  const isThere = (key: string): boolean => existsSync(join(dirname(path), 'engines', `${engineName(key, 1)}.plan`));
  const known = Math.min(needed, [...new Set(made)].filter(isThere).length);
  return { known, missing: needed - known };
}
