import { linkSync } from 'node:fs';

/** A second name for a file that is whole: nobody can find it half written. False where something has the name already. */
export function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}
