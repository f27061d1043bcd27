import { stat } from 'node:fs/promises';
import { join } from 'node:path';

import { sha256OfFile } from '../artefacts/files.ts';
import { namesIn } from '../artefacts/folders.ts';
import { type EngineNote, readEngineNote } from './engine-note.ts';
import { isPidRunning } from '../process/process-identity.ts';
import type { StoreDamage } from '../store/verify/damage.ts';
import { VariantCache } from '../variants/variant-cache.ts';

/** Built engines: each with its note, and with the bytes that the note states. What is wrong is built again anyway. */
export async function verifyEngines(folder: string, isQuick: boolean, signal: AbortSignal): Promise<StoreDamage[]> {
  const found: StoreDamage[] = [];
  for (const name of namesIn(folder)) {
    signal.throwIfAborted();
    const path = join(folder, name);
    const building = /\.building-(\d+)/.exec(name)?.[1];
    if (building !== undefined) {
      if (!isPidRunning(Number(building))) found.push(leftover(path, 'a build that was cut off'));
    } else if (name.endsWith('.plan')) {
      const note = readEngineNote(path.replace(/\.plan$/, '.json'));
      if (note === null) {
        // A kill between the engine and its note: the next build of it finds the file by its hash.
        found.push(leftover(path, 'an engine without its note'));
      } else if (!(await isAsNoted(path, note, isQuick))) {
        found.push({
          kind: 'engine',
          where: path,
          what: 'has other bytes than were built',
          advice: 'remove it: it is never loaded, and built again when it is needed',
        });
      }
    }
  }
  return found;
}

async function isAsNoted(path: string, note: EngineNote, isQuick: boolean): Promise<boolean> {
  if ((await stat(path)).size !== note.bytes) return false;
  return isQuick || (await sha256OfFile(path)).sha256 === note.sha256;
}

export async function verifyVariants(folder: string, signal: AbortSignal): Promise<StoreDamage[]> {
  const cache = new VariantCache(folder);
  const found: StoreDamage[] = [];
  for (const name of namesIn(folder)) {
    signal.throwIfAborted();
    const path = join(folder, name);
    const making = /^\.making-.*-(\d+)$/.exec(name)?.[1];
    if (making !== undefined) {
      if (!isPidRunning(Number(making))) found.push(leftover(path, 'a conversion that was cut off'));
    } else if (/^[0-9a-f]+$/.test(name) && (await cache.find(name)) === null) {
      found.push({
        kind: 'variant',
        where: path,
        what: 'has another content than was made',
        advice: 'remove it: it is never used, and made again when it is needed',
      });
    }
  }
  return found;
}

function leftover(path: string, what: string): StoreDamage {
  return { kind: 'leftover', where: path, what, advice: 'the next `bench run` takes care of it' };
}
