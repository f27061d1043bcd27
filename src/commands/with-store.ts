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
  const store = openExistingStore(storePath(options.db, io), migrationsFolder());
  try {
    return await work(store);
  } finally {
    store.close();
  }
}
