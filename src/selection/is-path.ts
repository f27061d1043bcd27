import { existsSync, readdirSync, statSync } from 'node:fs';
import { resolve } from 'node:path';

import type { Io } from '../cli/io.ts';
import { UsageError } from '../errors.ts';
import { printable } from '../text/printable.ts';

const RUN_FILES = /^(?:run\.json|stdout\.log|profile\.json|layers\.json)(?:\.(?:gz|zst|br))?$/;

/**
 * True for a text that looks like a path, or that is a folder with a run.
 * @throws UsageError when it looks like a path and does not exist
 */
export function isPath(name: string, io: Io): boolean {
  const path = resolve(io.cwd, name);
  if (/[/\\]|\.(?:json|log|txt|csv|trace)(?:\.(?:gz|zst|br))?$|^\.{1,2}$/.test(name)) {
    if (existsSync(path)) return true;
    // Branches may also contain slashes, and so may expressions.
    if (/^[./~]|[/\\]$|\.(?:json|log|txt|csv|trace)(?:\.\w+)?$/.test(name)) {
      throw new UsageError(`${printable(name)}: no such file or folder`);
    }
    return false;
  }
  return existsSync(path) && statSync(path).isDirectory() && readdirSync(path).some((file) => RUN_FILES.test(file));
}
