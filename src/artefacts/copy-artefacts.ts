import { copyFileSync, existsSync, lstatSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { constants, copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { type SweepId, isId } from '../records/scalars.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import type { StoreMerge } from '../store/merge/merge-store.ts';
import { runFoldersOf } from '../store/prune.ts';
import { keptAttachments } from '../store/runs/show-run.ts';
import { importTimeOf } from '../store/sweeps/imports.ts';
import { findSweep, planOf } from '../store/sweeps/sweeps.ts';
import { copyAttached } from './attached.ts';
import { folderSize, isLink, makeOwnFolder, namesIn, putInPlace, refuseLink } from '../files/folders.ts';
import {
  isTemporary,
  removedFolderOf,
  RUN_MANIFEST,
  runOfAttached,
  SWEEP_MANIFEST,
  sweepFolderOf,
} from '../files/layout.ts';
import { writeSweepManifest } from './sweep-notes.ts';
import { attachedPathOf } from '../files/attachments.ts';
import { errorCode, UsageError } from '../errors.ts';
import { plainName, writeAtomically } from '../files/files.ts';
import { printable } from '../text/printable.ts';
import { compressTo, manifestText } from './keep.ts';
import { type RunManifest, parseRunManifest } from './run-manifest.ts';

/**
 * Copies the artefacts of merged sweeps from the other store to this one. Existing folders stay. A kill leaves only
 * whole folders, and a second call copies the rest. `missing` also counts folders that the other store lacks.
 */
export async function copyArtefacts(
  db: StoreDatabase,
  { sweepIds, updatedSweepIds }: Pick<StoreMerge, 'sweepIds' | 'updatedSweepIds'>,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<{ folders: number; bytes: number; missing: number }> {
  const copied = { folders: 0, bytes: 0, missing: 0 };
  for (const sweepId of sweepIds.filter(isId)) {
    const [source, target] = [sweepFolderOf(from, sweepId), sweepFolderOf(to, sweepId)];
    const [there, here] = [runFoldersIn(source), runFoldersIn(target)];
    const wanted = runFoldersOf(db, sweepId).filter(({ runId, isPruned }) => !isPruned && !here.has(runId));
    const found = wanted.filter(({ runId }) => there.has(runId));
    copied.missing += wanted.length - found.length;
    if (found.length > 0) {
      await makeOwnFolder(to);
      refuseLink(target);
      await mkdir(target, { recursive: true });
    }
    for (const { runId } of found) {
      await nextTurn();
      signal.throwIfAborted();
      copied.bytes += await copyRunFolder(join(source, runId), join(target, runId));
      copied.folders += 1;
    }
    const lacksManifest = existsSync(source) && !existsSync(join(target, SWEEP_MANIFEST));
    if (updatedSweepIds.includes(sweepId) || lacksManifest) await writeManifest(db, sweepId, to);
    copied.bytes += await copyAttachments(db, sweepId, from, to);
  }
  return copied;
}

async function copyAttachments(db: StoreDatabase, sweepId: SweepId, from: string, to: string): Promise<number> {
  let copied = 0;
  for (const { runId, name } of keptAttachments(db, [sweepId])) {
    const source = attachedPathOf(from, { sweepId, runId, name });
    const target = attachedPathOf(to, { sweepId, runId, name });
    if (existsSync(target) || !isOwnFile(source)) continue;
    copied += (await copyAttached(source, target)).bytes;
  }
  return copied;
}

/** A file behind a link does not belong to the other store. */
function isOwnFile(path: string): boolean {
  const isBehindLink = isLink(dirname(dirname(path))) || isLink(dirname(path));
  return !isBehindLink && lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

async function writeManifest(db: StoreDatabase, sweepId: SweepId, to: string): Promise<void> {
  const sweep = findSweep(db, sweepId);
  if (sweep === null) return;
  const plan: unknown = JSON.parse(planOf(db, sweepId) ?? 'null');
  await writeSweepManifest(to, { sweep, plan, importedAt: importTimeOf(db, sweepId) });
}

export function runFoldersIn(sweepFolder: string): Set<string> {
  if (isLink(sweepFolder) || !existsSync(sweepFolder)) return new Set();
  const entries = readdirSync(sweepFolder, { withFileTypes: true });
  return new Set(entries.flatMap((entry) => (entry.isDirectory() && isId(entry.name) ? entry.name : [])));
}

const isKept = (path: string): boolean =>
  lstatSync(path).isDirectory() || (lstatSync(path).isFile() && !isTemporary(basename(path)));

/**
 * Copies the files of a run atomically, on copy-on-write where the file system has that.
 * @returns the bytes of its files
 */
function copyRunFolder(source: string, target: string): Promise<number> {
  refuseLink(dirname(target));
  return putInPlace(target, async (temporary) => {
    // With the default mode: a copy of a read-only folder may be removed later.
    await mkdir(temporary);
    await cp(source, temporary, { recursive: true, mode: constants.COPYFILE_FICLONE, filter: isKept });
    return (await folderSize(temporary)).bytes;
  });
}

/**
 * Renames the artefacts of a sweep into the existing folder `removed/SWEEP`; deletes nothing. Artefacts of an earlier
 * removal stay as `removed/SWEEP.2`. After a kill, a second call completes the move.
 * @param shared runs whose artefacts stay because other stores of the folder name them; null if none names the sweep
 * @returns the new folder of the artefacts; null if there were none
 */
export function moveToRemoved(artefactsFolder: string, sweepId: SweepId, shared: ReadonlySet<string> | null) {
  const from = sweepFolderOf(artefactsFolder, sweepId);
  const removed = removedFolderOf(artefactsFolder);
  const target = sweepFolderOf(removed, sweepId);
  if (!existsSync(from)) return existsSync(target) ? target : null;
  // The folders of runs that no other store names, and of their attachments.
  const own = new Set([...runFoldersIn(from)].filter((runId) => shared?.has(runId) !== true));
  const isOwn = (name: string): boolean => own.has(name) || own.has(runOfAttached(name) ?? '');
  const names = shared === null ? null : namesIn(from).filter(isOwn);
  if (names?.length === 0) return null;
  refuseLink(from);
  refuseLink(removed);
  let number = 2;
  while (existsSync(`${target}.${number}`)) number += 1;
  if (existsSync(target)) renameSync(target, `${target}.${number}`);
  if (names === null) {
    renameSync(from, target);
    return target;
  }
  mkdirSync(target);
  const notes = namesIn(from).filter((name) => name.endsWith('.json'));
  for (const name of notes) copyFileSync(join(from, name), join(target, name));
  for (const name of names) renameSync(join(from, name), join(target, name));
  return target;
}

/**
 * Copies the files of a run into the artefacts, compressed, with a normalized `run.json`. The folder appears
 * atomically.
 * @param files target name by source path
 * @param isContentHash true if the ID is the hash of the content, so that a folder with this ID has the same content
 * @throws UsageError if another run has this id; a run may state its own id
 */
export async function keepRun(
  target: string,
  files: ReadonlyMap<string, string>,
  manifest: RunManifest,
  isContentHash: boolean,
): Promise<void> {
  refuseLink(dirname(target));
  try {
    await putInPlace(target, async (temporary) => {
      await mkdir(temporary, { recursive: true });
      for (const [source, name] of files) {
        const path = join(temporary, name);
        await mkdir(dirname(path), { recursive: true });
        if (plainName(source) === source) await compressTo(source, `${path}.zst`);
        else await copyFile(source, path + source.slice(plainName(source).length));
      }
      await writeFile(join(temporary, RUN_MANIFEST), manifestText(manifest));
    });
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(errorCode(error))) throw error;
    if (!existsSync(join(target, RUN_MANIFEST))) throw error;
    if (!isContentHash) await refuseOther(target, manifest);
  }
}

/** @throws UsageError if another run is stored in this folder */
async function refuseOther(target: string, manifest: RunManifest): Promise<void> {
  const there = await readFile(join(target, RUN_MANIFEST), 'utf8').catch(() => null);
  if (there === null || startOf(there) === startOf(manifestText(manifest))) return;
  const artefacts = printable(dirname(dirname(target)));
  throw new UsageError(
    `${printable(target)}: already exists and belongs to a run that the store does not know: \`bench import ${artefacts}\` into this store, then import again`,
  );
}

function startOf(text: string): string | null {
  const { manifest } = parseRunManifest(text);
  if (manifest === null) return null;
  const { argv, startedAt, exitCode, wallS, logIndex } = manifest;
  return JSON.stringify([argv, startedAt, exitCode, wallS, logIndex]);
}

/** Corrects the stated facts in `run.json` of a kept run. */
export async function restateKept(folder: string, stated: Partial<RunManifest>): Promise<void> {
  for (const own of [dirname(folder), folder]) refuseLink(own);
  const path = join(folder, RUN_MANIFEST);
  const { manifest } = parseRunManifest(await readFile(path, 'utf8').catch(() => ''));
  if (manifest !== null) await writeAtomically(path, manifestText({ ...manifest, ...stated }));
}
