import { BenchError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { openExistingStore, openStoreToRead, type OpenStore } from '../store/file/open.ts';
import { sqliteProblem } from '../store/verify/sqlite-problems.ts';
import type { Io } from './io.ts';
import { migrationsFolder, storePath } from './store-location.ts';

type Work<Result> = (store: OpenStore) => Result | Promise<Result>;

/**
 * Opens an existing store, which may be read-only, for `work`.
 * @throws StoreError when there is none, or it cannot be read
 */
export function withStore<Result>(options: { readonly db?: string }, io: Io, work: Work<Result>): Promise<Result> {
  return usingStore(warnIfMigrated(openStoreToRead(storePath(options.db, io), migrationsFolder()), io), work, io);
}

/**
 * Opens a store for work that writes.
 * @throws StoreError when it is read-only, before anything is done
 */
export function withStoreToWrite<Result>(
  options: { readonly db?: string },
  io: Io,
  work: Work<Result>,
): Promise<Result> {
  return usingStore(warnIfMigrated(openExistingStore(storePath(options.db, io), migrationsFolder()), io), work, io);
}

/**
 * Runs `work` and closes the store.
 * @throws StoreError when the store's damage stopped the work
 */
export async function usingStore<Result>(
  store: OpenStore,
  work: Work<Result>,
  { signal }: Pick<Io, 'signal'>,
): Promise<Result> {
  try {
    return await work(store);
  } catch (error) {
    if (!isUnexpected(error) || signal.aborted) throw error;
    const { damageBehind } = await import('../store/verify/verify-values.ts');
    throw (await damageBehind(error, store, signal)) ?? error;
  } finally {
    store.close();
  }
}

/** An error that is neither ours nor SQLite's may come from damaged values in the store. */
function isUnexpected(error: unknown): boolean {
  if (error instanceof BenchError || sqliteProblem(error) !== null) return false;
  return !(error instanceof Error && 'syscall' in error);
}

/** Prints a line if opening the store migrated it. */
export function warnIfMigrated(store: OpenStore, io: Io): OpenStore {
  if (store.copyBefore !== null) {
    io.err(`note: the store was brought up to date; as it was before it lies in ${printable(store.copyBefore)}\n`);
  }
  return store;
}
