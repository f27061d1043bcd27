import { lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A folder on the node's own disk that outlives a job, for engines and variants: locks over a network file system are
 * not sound. In a folder that everybody may write into, a stranger could have made it first: then a private one is taken.
 * @param stated `cacheFolder` of the settings
 * @param otherwise a private folder, gone with the job
 */
export function nodeCache(stated: string | null, otherwise: string): string {
  if (stated !== null) {
    mkdirSync(stated, { recursive: true });
    return stated;
  }
  const uid = process.getuid?.() ?? 0;
  const folder = join(tmpdir(), `trtbench-cache-${uid}`);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // It is there, or cannot be made: the look below decides.
  }
  try {
    const facts = lstatSync(folder);
    if (facts.isDirectory() && facts.uid === uid && (facts.mode & 0o022) === 0) return folder;
  } catch {
    // As for a folder of somebody else.
  }
  return otherwise;
}
