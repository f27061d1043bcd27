import { existsSync } from 'node:fs';

import { printable } from '../text/printable.ts';
import { openExistingStore, openStoreToRead, type OpenStore } from '../store/file/open.ts';
import type { Io } from './io.ts';
import { migrationsFolder, storePath } from './store-location.ts';

type Work<Result, Store = OpenStore> = (store: Store) => Result | Promise<Result>;

type Stated = Pick<Io, 'db'>;

/**
 * Opens an existing store, which may be read-only, for `work`.
 * @throws StoreError when there is none, or it cannot be read
 */
export function withStore<Result>(options: Stated, io: Io, work: Work<Result>): Promise<Result> {
  return usingStore(warnIfMigrated(openStoreToRead(storePath(options.db, io), migrationsFolder()), io), work);
}

/** Like `withStore`; null without a store. */
export async function withStoreIfAny<R>(options: Stated, io: Io, work: Work<R, OpenStore | null>): Promise<R> {
  return existsSync(storePath(options.db, io)) ? withStore(options, io, work) : work(null);
}

/**
 * Opens a store for work that writes.
 * @throws StoreError when it is read-only, before anything is done
 */
export function withStoreToWrite<Result>(options: Stated, io: Io, work: Work<Result>): Promise<Result> {
  return usingStore(warnIfMigrated(openExistingStore(storePath(options.db, io), migrationsFolder()), io), work);
}

export async function usingStore<Result>(store: OpenStore, work: Work<Result>): Promise<Result> {
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

export function warnIfMigrated(store: OpenStore, io: Io): OpenStore {
  if (store.copyBefore !== null) {
    io.err(`note: bench migrated the store; a copy of the old one is ${printable(store.copyBefore)}\n`);
  }
  return store;
}
