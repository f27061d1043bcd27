import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { writeNote } from '../artefacts/files.ts';
import { namesIn, readJson, sizeOf } from '../artefacts/folders.ts';
import type { EngineCache } from './engine-cache.ts';
import { ENGINE_NAME, type EngineNote, notesIn } from './engine-note.ts';
import { usersOf } from './engine-uses.ts';
import type { EngineFolder, StoredEngine } from '../records/engine.ts';
import { KEPT } from './timing-caches.ts';

const PIN = '.pin';

export async function readEngineFolder(
  cache: EngineCache,
  { hashes }: { readonly hashes: boolean },
): Promise<EngineFolder> {
  const { folder } = cache;
  const names = namesIn(folder);
  const frozen = cache.frozen.all();
  const since = new Map(frozen.map(({ name, since: day }) => [name, day]));
  const engines: StoredEngine[] = [];
  for (const { name, note } of notesIn(folder)) {
    const state = hashes ? await checkedState(cache, name) : quickState(cache.pathOf(name), note);
    engines.push(storedEngine(cache, name, note, state, since.get(name) ?? null, names));
  }
  const known = new Set(engines.map(({ name }) => name));
  return {
    folder,
    engines: engines.toSorted((a, b) => timeOf(b) - timeOf(a) || a.name.localeCompare(b.name)),
    loose: names
      .filter((entry) => isLoose(entry, known, cache))
      .map((entry) => ({ path: join(folder, entry), bytes: sizeOf(join(folder, entry)) })),
    timingCacheBytes: names
      .filter((entry) => /^timing-.*\.cache$/.test(entry))
      .reduce((sum, entry) => sum + sizeOf(join(folder, entry)), 0),
    lost: frozen.flatMap(({ name, since: day }) => (known.has(name) ? [] : [{ name, since: day }])),
  };
}

function storedEngine(
  cache: EngineCache,
  name: string,
  note: EngineNote,
  state: StoredEngine['state'],
  frozenSince: string | null,
  names: readonly string[],
): StoredEngine {
  const { engineKey, isGiven: _given, schemaVersion: _schema, variant: _variant, ...known } = note;
  return {
    ...known,
    name,
    key: engineKey,
    path: cache.pathOf(name),
    bytes: state === 'missing' ? 0 : sizeOf(cache.pathOf(name)),
    timingCacheBytes: names.includes(name + KEPT) ? sizeOf(join(cache.folder, name + KEPT)) : 0,
    state,
    lastUsedAt: cache.uses.lastUsed(name)?.toISOString() ?? null,
    pinnedAt: pinnedAt(cache.folder, name),
    frozenSince,
    usedBy: usersOf(cache.folder, name, names),
  };
}

async function checkedState(cache: EngineCache, name: string): Promise<StoredEngine['state']> {
  const found = await cache.find(name);
  if (found.kind === 'ready') return 'asBuilt';
  return found.kind === 'changed' ? 'changed' : 'missing';
}

function quickState(path: string, note: EngineNote): StoredEngine['state'] {
  if (!existsSync(path)) return 'missing';
  return sizeOf(path) === note.bytes ? 'unchecked' : 'changed';
}

/** An engine set aside, or one without a note that is not being built, and its timing cache. */
function isLoose(entry: string, known: ReadonlySet<string>, cache: EngineCache): boolean {
  if (entry.endsWith('.plan.changed')) return true;
  const name = entry.replace(/\.(?:plan|cache(?:\.json)?)$/, '');
  return name !== entry && ENGINE_NAME.test(name) && !known.has(name) && !cache.locks.isHeld(name);
}

function timeOf({ lastUsedAt, builtAt }: StoredEngine): number {
  return Date.parse(lastUsedAt ?? builtAt ?? '1970-01-01T00:00:00Z');
}

export async function pinEngine(folder: string, name: string, at: Date): Promise<void> {
  await writeNote(join(folder, name + PIN), { schemaVersion: 1, pinnedAt: at.toISOString() });
}

export function unpinEngine(folder: string, name: string): void {
  rmSync(join(folder, name + PIN), { force: true });
}

const pinSchema = z.object({ pinnedAt: z.string() });

function pinnedAt(folder: string, name: string): string | null {
  return readJson(join(folder, name + PIN), pinSchema)?.pinnedAt ?? null;
}
