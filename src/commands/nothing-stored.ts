import { UsageError } from '../domain/errors.ts';
import { countEndedSweeps } from '../store/find-sweeps.ts';
import type { StoreDatabase } from '../store/open.ts';
import { unfinishedSweeps } from '../store/sweeps.ts';

/** Why there is nothing to look at yet: nothing was measured, or what was begun did not end. */
export function nothingStored(db: StoreDatabase): UsageError {
  const [begun] = unfinishedSweeps(db);
  return new UsageError(
    begun === undefined
      ? countEndedSweeps(db) === 0
        ? 'the store is empty: `bench run` or `bench import` something first'
        : 'no sweep of this branch is stored: name one of `bench sweeps`'
      : `no sweep has ended yet: go on with \`bench run --resume ${begun.sweepId.slice(0, 8)}\``,
  );
}
