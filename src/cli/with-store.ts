import { BenchError } from '../errors.ts';
import { printable } from '../text/printable.ts';
import { openExistingStore, openStoreToRead, type OpenStore } from '../store/file/open.ts';
import { sqliteProblem } from '../store/verify/sqlite-problems.ts';
import type { Io } from './io.ts';
import { migrationsFolder, storePath } from './store-location.ts';

type Work<Result> = (store: OpenStore) => Result | Promise<Result>;

/**
 * Does some work with the store that was named or found, which must exist and need not be writable, and closes it.
 * @throws StoreError when there is none, or it cannot be read
 */
export function withStore<Result>(options: { readonly db?: string }, io: Io, work: Work<Result>): Promise<Result> {
  return usingStore(warnIfMigrated(openStoreToRead(storePath(options.db, io), migrationsFolder()), io), work, io);
}

/** The same for work that writes. @throws StoreError when the store may only be read, before anything is done */
export function withStoreToWrite<Result>(
  options: { readonly db?: string },
  io: Io,
  work: Work<Result>,
): Promise<Result> {
  return usingStore(warnIfMigrated(openExistingStore(storePath(options.db, io), migrationsFolder()), io), work, io);
}

/**
 * Does some work with an open store and closes it.
 * @throws StoreError where what stopped the work is that the store is damaged
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

/** What is in a store comes from outside: a defect of bench, or something that bench never writes. */
function isUnexpected(error: unknown): boolean {
  if (error instanceof BenchError || sqliteProblem(error) !== null) return false;
  return !(error instanceof Error && 'syscall' in error);
}

/** A store that was just opened; says so where it had to be brought up to date. */
export function warnIfMigrated(store: OpenStore, io: Io): OpenStore {
  if (store.copyBefore !== null) {
    io.err(`note: the store was brought up to date; as it was before it lies in ${printable(store.copyBefore)}\n`);
  }
  return store;
}
