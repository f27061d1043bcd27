import { copyFileSync, linkSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { isId } from '../records/scalars.ts';
import { isTemporary, temporaryPath } from './layout.ts';
import { isLink, refuseLink } from './own-folder.ts';

/** The folders of runs that lie in the folder of a sweep; links are none of them. */
export function runFoldersIn(sweepFolder: string): Set<string> {
  try {
    if (isLink(sweepFolder)) return new Set();
    const entries = readdirSync(sweepFolder, { withFileTypes: true });
    return new Set(entries.flatMap((entry) => (entry.isDirectory() && isId(entry.name) ? entry.name : [])));
  } catch {
    return new Set();
  }
}

/**
 * Copies the folder of a finished run: hard links where both lie on one file system, for what is in it never changes.
 * It appears whole or not at all.
 * @returns the bytes of its files
 */
export function copyRunFolder(source: string, target: string): number {
  refuseLink(dirname(target));
  const temporary = temporaryPath(target);
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary, { recursive: true });
  try {
    let bytes = 0;
    for (const entry of readdirSync(source, { withFileTypes: true })) {
      if (!entry.isFile() || isTemporary(entry.name)) continue;
      linkOrCopy(join(source, entry.name), join(temporary, entry.name));
      bytes += statSync(join(temporary, entry.name)).size;
    }
    renameSync(temporary, target);
    return bytes;
  } catch (error) {
    rmSync(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Another file system, one that knows no links, or a file of which there are too many. */
const NO_LINK: readonly unknown[] = ['EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'EMLINK', 'EACCES'];

function linkOrCopy(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (!NO_LINK.includes(code)) throw error;
    copyFileSync(source, target);
  }
}
