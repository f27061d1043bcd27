import { UsageError } from '../errors.ts';
import { AB_BRANCH, OFF_BRANCHES } from '../records/sweep.ts';
import { printable } from '../text/printable.ts';
import { storedBranches, countEndedSweeps } from '../store/sweeps/find-sweeps.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import { unfinishedSweeps } from '../store/sweeps/sweeps.ts';

/**
 * The error for a store without results: nothing was measured, or no sweep finished.
 * @param branch null if none was requested
 */
export function nothingStored(db: StoreDatabase, branch: string | null = null): UsageError {
  const [begun] = unfinishedSweeps(db);
  return new UsageError(
    begun === undefined
      ? countEndedSweeps(db) === 0
        ? 'the store is empty: `bench run` or `bench import` something first'
        : otherBranches(db, branch)
      : `no sweep has ended yet: go on with \`bench run --resume ${begun.sweepId.slice(0, 8)}\``,
  );
}

const MOST_NAMES = 8;

function otherBranches(db: StoreDatabase, branch: string | null): string {
  const names = storedBranches(db).filter((name) => name !== AB_BRANCH && !OFF_BRANCHES.includes(name));
  const shown = names.slice(0, MOST_NAMES).map(printable).join(', ');
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  const which = branch === null ? 'a branch' : `branch ${printable(branch)}`;
  const others = names.length === 0 ? '' : `, there are ${shown}${more}`;
  return `no sweep of ${which} is stored${others}: name one of \`bench ls sweeps\`, or a branch with --branch`;
}
