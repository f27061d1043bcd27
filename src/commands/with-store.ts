import { printable } from '../domain/printable.ts';
import { openExistingStore, type OpenStore } from '../store/open.ts';
import type { Io } from './io.ts';
import { migrationsFolder, storePath } from './store-location.ts';

/**
 * Does some work with the store that was named or found, which must exist, and closes it.
 * @throws StoreError when there is none, or it cannot be opened
 */
export async function withStore<Result>(
  options: { readonly db?: string },
  io: Io,
  work: (store: OpenStore) => Result | Promise<Result>,
): Promise<Result> {
  const store = told(openExistingStore(storePath(options.db, io), migrationsFolder()), io);
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

/** A store that was just opened; says so where it had to be brought up to date. */
export function told(store: OpenStore, io: Io): OpenStore {
  if (store.copyBefore !== null) {
    io.err(
      `note: the store was brought up to date; as it was before it lies in ${printable(store.copyBefore)}\n`,
    );
  }
  return store;
}
