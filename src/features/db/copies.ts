import { mkdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve, basename, dirname } from 'node:path';
import { mkdir, rename } from 'node:fs/promises';

import { copyArtefacts } from '../../artefacts/copy-artefacts.ts';
import { writeFindings } from '../../artefacts/sweep-notes.ts';
import { artefactsFolderOf, temporaryPath } from '../../files/layout.ts';
import { type Io, printResult } from '../../cli/io.ts';
import { migrationsFolder, STORE_NAME, storePath } from '../../cli/store-location.ts';
import { usingStore, warnIfMigrated, withStore } from '../../cli/with-store.ts';
import { ensure, StoreError, UsageError, errorCode, EXIT_CODES, type ExitCode } from '../../errors.ts';
import type { MergeOptions, BackupOptions } from './command.ts';
import type { MergeOutput, BackupOutput } from './output.ts';
import { appliedMigration, newestMigration } from '../../store/file/migrations.ts';
import { copyInto, mayWriteStore } from '../../store/file/open-to-read.ts';
import { backupStore, openStore, type OpenStore, openUnchanged, withStoreErrors } from '../../store/file/open.ts';
import { mergeStore } from '../../store/merge/merge-store.ts';
import { type Look, wrapHanging } from '../../terminal/look.ts';
import { count, formatBytes } from '../../terminal/numbers.ts';
import { printable } from '../../text/printable.ts';
import { cannotWrite } from '../../cli/output-file.ts';

type MergedStore = MergeOutput['stores'][number];

export async function mergeStores(others: readonly string[], options: MergeOptions, io: Io): Promise<ExitCode> {
  const ownPath = storePath(options.db, io);
  const stores: MergedStore[] = [];
  const paths = others.map((other) => storeAt(resolve(io.cwd, other)));
  // Checked before a store is created, so that a mistyped name does not leave an empty one.
  for (const path of paths) refuseOther(path, ownPath);
  const store = warnIfMigrated(openStore(ownPath, migrationsFolder()), io);
  await usingStore(store, async () => {
    for (const path of paths) stores.push(await mergeOne(store, path, options, io));
  });
  printResult<MergeOutput>(io, options, { schemaVersion: 1, stores }, mergeText);
  return stores.some(({ conflicts }) => conflicts.length > 0) ? EXIT_CODES.incomplete : EXIT_CODES.fine;
}

/** A folder means the store in it. */
function storeAt(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? join(path, STORE_NAME) : path;
}

async function mergeOne(store: OpenStore, path: string, options: MergeOptions, io: Io): Promise<MergedStore> {
  const folder = temporaryPath(`${store.path}.merging`);
  const clear = (): void => rmSync(folder, { recursive: true, force: true });
  clear();
  try {
    const merge = await mergeStore(store.db, readableOf(path, folder), io.signal);
    const { sweepIds, updatedSweepIds, ...merged } = merge;
    const [from, to] = [artefactsFolderOf(path), artefactsFolderOf(store.path)];
    const areCopied = options.artefacts !== false && from !== to;
    const artefacts = areCopied ? await copyArtefacts(store.db, merge, from, to, io.signal) : null;
    if (areCopied) await writeFindings(store.db, to, sweepIds);
    return { path, ...merged, conflicts: [...merged.conflicts], updatedSweeps: updatedSweepIds.length, artefacts };
  } finally {
    clear();
  }
}

function mergeText({ stores }: MergeOutput, look: Look): string[] {
  return stores.flatMap((store) => storeLines(store, look).flatMap((line) => wrapHanging(line, look.columns, 2)));
}

function storeLines({ added, alreadyThere, artefacts, conflicts, path, updatedSweeps }: MergedStore, look: Look) {
  const { accuracy, acknowledgements, baselines, cells, findings, runs, sweeps } = added;
  const counted = { sweep: sweeps, run: runs, cell: cells, baseline: baselines, finding: findings };
  const others = { acknowledgement: acknowledgements, 'accuracy record': accuracy };
  const news = Object.entries({ ...counted, ...others }).flatMap(([noun, number]) =>
    number > 0 ? count(number, noun) : [],
  );
  const there = `; ${count(alreadyThere.sweeps, 'sweep')} and ${count(alreadyThere.runs, 'run')} were there already`;
  const hasCommon = alreadyThere.sweeps + alreadyThere.runs > 0;
  const { folders, bytes, missing } = artefacts ?? { folders: 0, bytes: 0, missing: 0 };
  return [
    `${look.style.strong(printable(path))}: ${news.length === 0 ? 'nothing new' : `${news.join(', ')} added`}${hasCommon ? there : ''}`,
    updatedSweeps > 0 && `${count(updatedSweeps, 'sweep')} updated, as the other store has more runs of them`,
    folders > 0 && `artefacts of ${count(folders, 'run')} copied, ${formatBytes(bytes)}`,
    missing > 0 && `${count(missing, 'run has', 'runs have')} no artefacts in the other store either`,
    ...conflicts.map(({ columns, examples, rows, table }) =>
      look.style.warn(
        `${count(rows, 'row')} of ${table} differ under the same id: what was here is kept: ${columns.join(', ') || 'missing here'} (${examples.map(printable).join(', ')})`,
      ),
    ),
  ].filter((line) => line !== false);
}

/** @throws StoreError if it is not a store of this program, or is newer than this program */
function refuseOther(path: string, ownPath: string): void {
  const [other, own] = [path, ownPath].map((one) => statSync(one, { throwIfNoEntry: false }));
  const isOwn = other !== undefined && other.dev === own?.dev && other.ino === own.ino;
  ensure(!isOwn, `${path} is the store itself; name another store to merge`);
  openUnchanged(path, migrationsFolder()).close();
}

/**
 * Another store, to be read without writing to it: the store itself, or a migrated copy in this folder, which lies next
 * to the target store, where there should be room.
 */
function readableOf(path: string, folder: string): string {
  const client = openUnchanged(path, migrationsFolder());
  try {
    return withStoreErrors(path, () => {
      const isCurrent = appliedMigration(client) === newestMigration(migrationsFolder());
      if (mayWriteStore(path) && isCurrent) return path;
      mkdirSync(folder);
      const copy = join(folder, basename(path));
      copyInto(client, copy);
      openStore(copy, migrationsFolder()).close();
      return copy;
    });
  } finally {
    client.close();
  }
}

export function backup(file: string | undefined, options: BackupOptions, io: Io): Promise<ExitCode> {
  return withStore(options, io, async (store) => {
    const target = file === undefined ? defaultName(store.path, io) : resolve(io.cwd, file);
    refuse(target, store.path, options.force === true);
    const runs = await copyTo(store, target);
    const { size: bytes } = statSync(target);
    return printResult<BackupOutput>(io, options, { schemaVersion: 1, path: target, bytes, runs }, () => [
      `${printable(target)}: ${count(runs, 'run')}, ${formatBytes(bytes)}, checked`,
    ]);
  });
}

/** A second backup within the same second is an error and does not overwrite the first. */
function defaultName(path: string, io: Io): string {
  const time = io.now().toISOString().slice(0, 19).replaceAll(':', '').replace('T', '-');
  return `${path.replace(/\.sqlite$/, '')}-${time}Z.backup.sqlite`;
}

function refuse(target: string, ownPath: string, force: boolean): void {
  ensure(target !== ownPath, `${target} is the store itself`);
  const there = statSync(target, { throwIfNoEntry: false });
  ensure(there?.isDirectory() !== true, `${target} is a folder; name a file`);
  ensure(there === undefined || force, `${target} exists; --force overwrites it`);
}

const FULL = ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'];

/** Verified before the rename, so that an existing backup is always valid. @returns the number of runs in the copy */
async function copyTo({ db }: OpenStore, target: string): Promise<number> {
  const temporary = temporaryPath(target);
  try {
    await mkdir(dirname(target), { recursive: true });
    const { quickCheck, runs } = backupStore(db, temporary);
    if (quickCheck !== 'ok') {
      throw new StoreError(`the copy is damaged, like the store (${printable(quickCheck)}): see \`bench db verify\``);
    }
    await rename(temporary, target);
    return runs;
  } catch (error) {
    const code = errorCode(error);
    if (code === '' || error instanceof StoreError) throw error;
    const problem = cannotWrite(target, error, 'the store did not change');
    throw FULL.includes(code) ? problem : new UsageError(problem.message, { cause: error });
  } finally {
    for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(temporary + ending, { force: true });
  }
}
