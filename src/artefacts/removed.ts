import { existsSync } from 'node:fs';
import { copyFile, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

import { runFoldersIn } from './copy-artefacts.ts';
import { makeOwnFolder, namesIn, refuseLink } from './folders.ts';
import { removedFolderOf, runOfAttached, sweepFolderOf } from './layout.ts';
import type { SweepId } from '../records/scalars.ts';

/** Folders that were renamed: what was where, and where it is now. */
type Moves = (readonly [from: string, to: string])[];

interface MovedArtefacts {
  /** The folder where they lie now; null if there were none. */
  readonly folder: string | null;
  /** Puts all back where it was. */
  readonly undo: () => Promise<void>;
}

/**
 * Renames the artefacts of a sweep into `removed/SWEEP`; nothing is deleted. What lies there from an earlier removal keeps
 * its content, as `removed/SWEEP.2`. After a kill, doing it again ends it.
 * @param shared runs that other stores of the folder name, whose artefacts stay; null if none names the sweep
 */
export async function moveToRemoved(
  artefactsFolder: string,
  sweepId: SweepId,
  shared: ReadonlySet<string> | null,
): Promise<MovedArtefacts> {
  const from = sweepFolderOf(artefactsFolder, sweepId);
  const removed = removedFolderOf(artefactsFolder);
  const target = sweepFolderOf(removed, sweepId);
  const moves: Moves = [];
  const move = async (source: string, to: string): Promise<void> => {
    await rename(source, to);
    moves.push([source, to]);
  };
  const undo = async (): Promise<void> => {
    for (const [source, to] of moves.splice(0).toReversed()) await rename(to, source);
  };
  const names = shared === null ? null : foldersToMove(from, shared);
  if (!existsSync(from)) return { folder: existsSync(target) ? target : null, undo };
  if (names?.length === 0) return { folder: null, undo };
  refuseLink(from);
  refuseLink(removed);
  await makeOwnFolder(removed);
  try {
    if (existsSync(target)) await move(target, freeName(target));
    if (names === null) await move(from, target);
    else {
      await mkdir(target);
      for (const name of namesIn(from).filter((each) => each.endsWith('.json'))) {
        await copyFile(join(from, name), join(target, name));
      }
      for (const name of names) await move(join(from, name), join(target, name));
    }
  } catch (error) {
    await undo();
    throw error;
  }
  return { folder: target, undo };
}

/** Folders of runs, and of what is attached to them, that no other store names. */
function foldersToMove(sweepFolder: string, shared: ReadonlySet<string>): string[] {
  const own = new Set([...runFoldersIn(sweepFolder)].filter((runId) => !shared.has(runId)));
  return namesIn(sweepFolder).filter((name) => own.has(name) || own.has(runOfAttached(name) ?? ''));
}

function freeName(path: string): string {
  let number = 2;
  while (existsSync(`${path}.${number}`)) number += 1;
  return `${path}.${number}`;
}
