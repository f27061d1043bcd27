import { lstatSync, readdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { readJson } from '../artefacts/folders.ts';
import { EnvironmentLackingError, errorCode } from '../errors.ts';
import { ownerSchema, ownerState, thisOwner } from './process-identity.ts';
import { printable } from '../text/printable.ts';

const OWNER_FILE = '.owner.json';

/**
 * Runs a function with a temporary folder that is removed afterwards. Folders of killed processes are removed first.
 * @param kind part of its name
 * @throws EnvironmentLackingError if nothing can be written there
 */
export async function inTemporaryFolder<Result>(
  kind: 'accuracy' | 'notify' | 'nsys' | 'probe' | 'reduce' | 'work' | 'worker',
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await made(`bench-${kind}-`);
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Why the system's temporary folder cannot be written; null for another error. */
export function temporaryFolderProblem(code: string): string | null {
  const what = PROBLEMS[code];
  return what === undefined ? null : `${printable(tmpdir())}: ${what}`;
}

const ELSEWHERE = 'set TMPDIR to another folder';
const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: `there is no such temporary folder: make it, or ${ELSEWHERE}`,
  ENOTDIR: `the temporary folder is no folder: ${ELSEWHERE}`,
  ENOSPC: `the temporary folder has no space or no inodes left: make room, or ${ELSEWHERE}`,
  EDQUOT: `the disk quota of the temporary folder is used up: make room, or ${ELSEWHERE}`,
  EACCES: `the temporary folder may not be written: ${ELSEWHERE}`,
  EROFS: `the temporary folder may not be written: ${ELSEWHERE}`,
};

async function made(start: string): Promise<string> {
  let folder: string | null = null;
  try {
    await removeLeft(start);
    folder = await mkdtemp(join(tmpdir(), start));
    writeFileSync(join(folder, OWNER_FILE), JSON.stringify(thisOwner()));
    return folder;
  } catch (error) {
    if (folder !== null) await rm(folder, { recursive: true, force: true });
    const problem = temporaryFolderProblem(errorCode(error));
    throw problem === null ? error : new EnvironmentLackingError(problem, { cause: error });
  }
}

/** Only this user's: another user's could be replaced meanwhile. */
async function removeLeft(start: string): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const path = join(tmpdir(), name);
    if (!name.startsWith(start) || !isOwnFolder(path) || !isLeft(path)) continue;
    await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

function isOwnFolder(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.();
}

function isLeft(folder: string): boolean {
  const owner = readJson(join(folder, OWNER_FILE), ownerSchema);
  return owner !== null && ownerState(owner) === 'gone';
}
