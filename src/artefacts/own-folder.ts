import { lstatSync } from 'node:fs';

import { StoreError } from '../errors.ts';
import { printable } from '../text/printable.ts';

/** True for a link itself, wherever it leads. */
export function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/**
 * To be called before anything is written to or removed from a folder below the artefacts.
 * @throws StoreError when it is a symbolic link: the files would be somebody else's
 */
export function refuseLink(folder: string): void {
  if (!isLink(folder)) return;
  throw new StoreError(
    `${printable(folder)}: is a symbolic link, and bench writes and removes only in its own folders; put a folder in its place`,
  );
}
