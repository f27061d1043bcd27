import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { artefactsFolderOf } from '../../artefacts/layout.ts';
import { EXIT_CODES, type ExitCode } from '../../exit-codes.ts';
import type { ArtefactMerge, StoreMerge } from '../../store/merge/report.ts';
import { copyArtefacts } from '../../artefacts/copy-artefacts.ts';
import { mergeText } from './merge-text.ts';
import type { MergeOutput } from './output.ts';
import { mergeStore } from '../../store/merge/merge-store.ts';
import { openOther, refuseOther } from '../../store/merge/other-store.ts';
import { openStore, type OpenStore } from '../../store/file/open.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder, STORE_NAME, storePath } from '../../cli/store-location.ts';
import { told, usingStore } from '../../cli/with-store.ts';
import { Ticker } from './ticker.ts';
import type { MergeOptions } from './command.ts';

type MergedStore = MergeOutput['stores'][number];

/** `bench db merge OTHER...`: brings what other stores have into this one. */
export async function mergeStores(others: readonly string[], options: MergeOptions, io: Io): Promise<ExitCode> {
  const ownPath = storePath(options.db, io);
  const stores: MergedStore[] = [];
  const paths = others.map((other) => storeIn(resolve(io.cwd, other)));
  // Before a store is made here: a mistyped name is no reason for an empty one.
  for (const path of paths) refuseOther(path, ownPath, migrationsFolder());
  const store = told(openStore(ownPath, migrationsFolder()), io);
  const work = async (): Promise<void> => {
    for (const path of paths) stores.push(await mergeOne(store, path, options, io));
  };
  await usingStore(store, work, io);
  printResult<MergeOutput>(io, options, { schemaVersion: 1, stores }, mergeText);
  const differs = stores.some(({ conflicts }) => conflicts.length > 0);
  return differs ? EXIT_CODES.incomplete : EXIT_CODES.fine;
}

/** A folder stands for the store in it. */
function storeIn(path: string): string {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  return isFolder ? join(path, STORE_NAME) : path;
}

async function mergeOne(store: OpenStore, path: string, options: MergeOptions, io: Io): Promise<MergedStore> {
  const other = openOther(path, store.path, migrationsFolder());
  const ticker = new Ticker(io);
  try {
    const merge = await mergeStore(
      store.db,
      other.readable,
      ({ runs, of }) => ticker.tell(`merging: ${runs} of ${of} runs`),
      io.signal,
    );
    const { added, alreadyThere, conflicts, updatedSweepIds } = merge;
    const artefacts = await artefactsOf(store, path, merge, ticker, options, io);
    return { path, added, alreadyThere, updatedSweeps: updatedSweepIds.length, conflicts, artefacts };
  } finally {
    ticker.end();
    other.close();
  }
}

async function artefactsOf(
  { db, path }: OpenStore,
  otherPath: string,
  merge: StoreMerge,
  ticker: Ticker,
  options: MergeOptions,
  io: Io,
): Promise<ArtefactMerge | null> {
  const [from, to] = [artefactsFolderOf(otherPath), artefactsFolderOf(path)];
  if (options.artefacts === false || from === to) return null;
  return copyArtefacts(db, merge, from, to, (folders) => ticker.tell(`copying artefacts: ${folders} runs`), io.signal);
}
