import { stat } from 'node:fs/promises';
import { join } from 'node:path';

import { sha256OfFile } from '../artefacts/files.ts';
import { namesIn } from '../artefacts/folders.ts';
import { type EngineNote, readEngineNote } from './engine-note.ts';
import { isPidRunning } from '../process/process-identity.ts';
import type { StoreDamage } from '../store/verify/damage.ts';
import { VariantCache } from '../variants/variant-cache.ts';

/** Checks that each engine has a note and the bytes that it states. Damaged ones are rebuilt anyway. */
export function verifyEngines(folder: string, isQuick: boolean, signal: AbortSignal): Promise<StoreDamage[]> {
  return damagesIn(folder, signal, async (name, path) => {
    const building = /\.building-(\d+)/.exec(name)?.[1];
    if (building !== undefined) return leftover(path, 'a build that was cut off', building);
    if (!name.endsWith('.plan')) return null;
    const note = readEngineNote(path.replace(/\.plan$/, '.json'));
    // Killed between engine and note: the next build finds the file by its hash.
    if (note === null) return leftover(path, 'an engine without its note');
    if (await isAsNoted(path, note, isQuick)) return null;
    const advice = 'remove it: it is never loaded, and built again when it is needed';
    return { kind: 'engine', where: path, what: 'has other bytes than were built', advice };
  });
}

async function isAsNoted(path: string, note: EngineNote, isQuick: boolean): Promise<boolean> {
  if ((await stat(path)).size !== note.bytes) return false;
  return isQuick || (await sha256OfFile(path)).sha256 === note.sha256;
}

export function verifyVariants(folder: string, signal: AbortSignal): Promise<StoreDamage[]> {
  const cache = new VariantCache(folder);
  return damagesIn(folder, signal, async (name, path) => {
    const making = /^\.making-.*-(\d+)$/.exec(name)?.[1];
    if (making !== undefined) return leftover(path, 'a conversion that was cut off', making);
    if (!/^[0-9a-f]+$/.test(name) || (await cache.find(name)) !== null) return null;
    const advice = 'remove it: it is never used, and made again when it is needed';
    return { kind: 'variant', where: path, what: 'has another content than was made', advice };
  });
}

async function damagesIn(
  folder: string,
  signal: AbortSignal,
  look: (name: string, path: string) => Promise<StoreDamage | null>,
): Promise<StoreDamage[]> {
  const found: StoreDamage[] = [];
  for (const name of namesIn(folder)) {
    signal.throwIfAborted();
    const damage = await look(name, join(folder, name));
    if (damage !== null) found.push(damage);
  }
  return found;
}

/** @param pid of the process that works on it, if it still runs; then it is none */
function leftover(path: string, what: string, pid?: string): StoreDamage | null {
  if (pid !== undefined && isPidRunning(Number(pid))) return null;
  return { kind: 'leftover', where: path, what, advice: 'the next `bench run` takes care of it' };
}
