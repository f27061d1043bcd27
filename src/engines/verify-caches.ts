import { join } from 'node:path';

import { namesIn } from '../artefacts/folders.ts';
import { EngineCache } from './engine-cache.ts';
import { isPidRunning } from '../process/process-identity.ts';
import type { StoreDamage } from '../store/verify/verify-store.ts';
import { VariantCache } from '../variants/variant-cache.ts';

/** Checks that each engine has the bytes that were built. Damaged ones are rebuilt anyway. */
export async function verifyEngines(folder: string, isQuick: boolean, signal: AbortSignal): Promise<StoreDamage[]> {
  const { engines, loose } = await new EngineCache(folder).contents({ hashes: !isQuick });
  const advice = 'remove it: it is never loaded, and built again when it is needed';
  const what = 'has other bytes than were built';
  const changed = engines
    .filter(({ state }) => state === 'changed')
    .map(({ path }): StoreDamage => ({ kind: 'engine', where: path, what, advice }));
  // Killed between engine and index: the next build finds the file by its hash.
  const unnamed = loose.flatMap(({ path }) => leftover(path, 'a file of no engine') ?? []);
  const cutOff = await damagesIn(folder, signal, async (name, path) => {
    const pid = /\.building-(\d+)/.exec(name)?.[1];
    return pid === undefined ? null : leftover(path, 'a build that was cut off', pid);
  });
  return [...changed, ...unnamed, ...cutOff];
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
