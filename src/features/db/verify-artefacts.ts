import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { digestOfAttached } from '../../artefacts/attached.ts';
import { namesIn, readJson } from '../../artefacts/folders.ts';
import { attachedFolderOf, ATTEMPT_PREFIX, isTemporary, RUN_MANIFEST, sweepFolderOf } from '../../artefacts/layout.ts';
import { verifyRunFolder } from '../../artefacts/run-files.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { isProbablyRunning, identitySchema, isPidRunning } from '../../process/process-identity.ts';
import { isId, type SweepId } from '../../records/scalars.ts';
import { ATTEMPT_FILE } from '../../run/attempt.ts';
import { sweepLockHolder } from '../../run/sweep-lock.ts';
import { type StoreDamage, type AttachedFile, type RunFiles, type knownRuns } from '../../store/verify/verify-store.ts';
import { VariantCache } from '../../variants/variant-cache.ts';

/** What the store, and others of the same folder, know. */
type KnownArtefacts = ReturnType<typeof knownRuns>;

export interface VerifySettings {
  readonly isQuick: boolean;
  readonly onProgress: (runs: number) => void;
  readonly signal: AbortSignal;
}

/** Compares artefacts and store in both directions. */
export async function verifyArtefacts(
  folder: string,
  known: KnownArtefacts,
  { isQuick, onProgress, signal }: VerifySettings,
): Promise<StoreDamage[]> {
  const found: StoreDamage[] = [];
  let checked = 0;
  const there = namesIn(folder);
  for (const sweepId of new Set([...known.sweepIds, ...there.filter(isId)])) {
    const sweepFolder = sweepFolderOf(folder, sweepId);
    for (const { runId, files, isPruned } of known.runsOf(sweepId)) {
      await nextTurn();
      signal.throwIfAborted();
      found.push(...(await verifyRun(join(sweepFolder, runId), files, isPruned, isQuick)));
      checked += 1;
      onProgress(checked);
    }
    for (const file of known.attachedOf(sweepId)) {
      signal.throwIfAborted();
      found.push(...(await verifyAttached(attachedFolderOf(folder, sweepId, file.runId), file, isQuick)));
    }
    const isMeasured = sweepLockHolder(folder, sweepId) !== null;
    if (!isMeasured) found.push(...strangersIn(sweepFolder, sweepId, known));
  }
  return [...found, ...there.filter(isDeadTemporary).map((name) => cutOff(join(folder, name)))];
}

async function verifyRun(
  folder: string,
  files: RunFiles['files'],
  isPruned: boolean,
  isQuick: boolean,
): Promise<StoreDamage[]> {
  const isThere = existsSync(folder);
  if (isPruned) {
    return isThere ? [leftover(folder, 'was pruned and is still there', 'the next `bench db prune` removes it')] : [];
  }
  const advice = 'bring it back from a backup; the stored results are whole without it';
  const problems = isThere ? await verifyRunFolder(folder, files, isQuick) : [{ kind: 'missing', file: '' }];
  return problems.map(({ kind, file }): StoreDamage => {
    const where = join(folder, file);
    return kind === 'missing'
      ? { kind: 'artefactMissing', where, what: 'is not there', advice }
      : { kind: 'artefactDamaged', where, what: 'has another content than was stored', advice };
  });
}

async function verifyAttached(
  folder: string,
  { name, sha256, bytes }: AttachedFile,
  isQuick: boolean,
): Promise<StoreDamage[]> {
  const where = join(folder, name);
  const advice = 'bring it back from a backup, or attach it anew';
  if (!existsSync(where)) {
    return [{ kind: 'artefactMissing', where, what: 'was attached and is not there', advice }];
  }
  const found = isQuick ? { sha256, bytes } : await digestOfAttached(where);
  if (found.sha256 === sha256 && found.bytes === bytes) return [];
  return [{ kind: 'artefactDamaged', where, what: 'has another content than was attached', advice }];
}

/** What is in a sweep's folder but not in the store. */
function strangersIn(folder: string, sweepId: SweepId, known: KnownArtefacts): StoreDamage[] {
  const resume = `\`bench run --resume ${sweepId.slice(0, 8)}\` takes care of it`;
  return namesIn(folder).flatMap((name): StoreDamage[] => {
    const path = join(folder, name);
    const isAttempt = name.startsWith(ATTEMPT_PREFIX);
    if (isAttempt && isAtWork(path)) return [];
    if (isDeadTemporary(name)) return [cutOff(path)];
    if (!isAttempt && (!isId(name) || known.knows(sweepId, name))) return [];
    if (!isAttempt && !existsSync(join(path, RUN_MANIFEST))) return [cutOff(path)];
    if (isAttempt || known.isUnfinished(sweepId)) return [leftover(path, 'a run that was cut off', resume)];
    const what = 'is a run that the store lacks';
    return [{ kind: 'notStored', where: path, what, advice: `\`bench import ${path}\` takes it in` }];
  });
}

function leftover(where: string, what: string, advice = 'the next `bench run` takes care of it'): StoreDamage {
  return { kind: 'leftover', where, what, advice };
}

export function cutOff(where: string): StoreDamage {
  return leftover(where, 'a copy that was cut off', 'remove it');
}

function isAtWork(folder: string): boolean {
  const identity = readJson(join(folder, ATTEMPT_FILE), identitySchema);
  return identity !== null && isProbablyRunning(identity);
}

/** A temporary file of a process that is gone. */
export function isDeadTemporary(name: string): boolean {
  if (!isTemporary(name)) return false;
  const pid = Number(/\d+$/.exec(name)?.[0]);
  return !isPidRunning(pid);
}

/** Checks that each engine has the bytes that were built. Damaged ones are rebuilt anyway. */
export async function verifyEngines(folder: string, isQuick: boolean, signal: AbortSignal): Promise<StoreDamage[]> {
  const { engines, loose } = await new EngineCache(folder).contents({ hashes: !isQuick });
  const advice = 'remove it: it is never loaded, and built again when it is needed';
  const what = 'has other bytes than were built';
  const changed = engines
    .filter(({ state }) => state === 'changed')
    .map(({ path }): StoreDamage => ({ kind: 'engine', where: path, what, advice }));
  // Killed between engine and index: the next build finds the file by its hash.
  const unnamed = loose.map(({ path }) => leftover(path, 'a file of no engine'));
  const building = await damagesIn(folder, signal, async (name, path) => {
    const pid = /\.building-(\d+)/.exec(name)?.[1];
    return pid === undefined || isPidRunning(Number(pid)) ? null : leftover(path, 'a build that was cut off');
  });
  return [...changed, ...unnamed, ...building];
}

export function verifyVariants(folder: string, signal: AbortSignal): Promise<StoreDamage[]> {
  const cache = new VariantCache(folder);
  return damagesIn(folder, signal, async (name, path) => {
    const pid = /^\.making-.*-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined) return isPidRunning(Number(pid)) ? null : leftover(path, 'a conversion that was cut off');
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
