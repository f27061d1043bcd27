import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { UsageError } from '../../errors.ts';
import { holderText } from '../../process/lock-holder.ts';
import { sweepLockHolder, lockSweep } from '../../run/sweep-lock.ts';
import { type OpenStore, openStore } from '../../store/file/open.ts';
import type { Io } from '../../cli/io.ts';
import { migrationsFolder } from '../../cli/store-location.ts';
import { told, usingStore } from '../../cli/with-store.ts';
import { type BisectState, saveState } from './state.ts';

/** What all parts of one bisection work with. */
export interface Session {
  readonly store: OpenStore;
  readonly io: Io;
  /** Whether the machine is watched beside the runs. */
  readonly telemetry: boolean;
  /** Its own folder, beside the store: state, logs, worktrees, engines of its own. */
  readonly folder: string;
  /** As it is on disk, too. */
  readonly state: () => BisectState;
  readonly save: (change: Partial<BisectState>) => Promise<void>;
}

/** All bisections of a store. */
export function bisectFolderOf(storePath: string): string {
  return join(dirname(storePath), 'bisect');
}

/** Engines that only one subject may load, as a program of its own built them. */
export function enginesOf(folder: string): string {
  return join(folder, 'engines');
}

/**
 * Does some work on a bisection that no other process works on.
 * @throws UsageError when another one does
 */
export async function inSession<Result>(
  path: string,
  first: BisectState,
  telemetry: boolean,
  io: Io,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  const all = bisectFolderOf(path);
  await mkdir(all, { recursive: true });
  const ignore = join(all, '.gitignore');
  if (!existsSync(ignore)) await writeFile(ignore, '*\n');
  const holder = sweepLockHolder(all, first.bisectId);
  if (holder !== null) throw new UsageError(`${holderText(holder)} works on this bisection already`);
  const unlock = lockSweep(all, first.bisectId);
  const store = told(openStore(path, migrationsFolder()), io);
  let state = first;
  const save = async (change: Partial<BisectState>): Promise<void> => {
    state = { ...state, ...change };
    await saveState(all, state);
  };
  const begun = async (): Promise<Result> => {
    await save({});
    return await work({ store, io, telemetry, folder: join(all, first.bisectId), state: () => state, save });
  };
  try {
    return await usingStore(store, begun, io);
  } finally {
    unlock();
  }
}
