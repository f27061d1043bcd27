import { existsSync, statSync } from 'node:fs';
import * as z from 'zod';

import { count, id, instant, type OutputOf, provenance } from '../records/output-parts.ts';
import { sha256Schema } from '../records/scalars.ts';
import { namesIn, sizeOf } from '../files/folders.ts';
import { type CachedEngine, type EngineCache, USE, USED } from './engine-cache.ts';
import { engineName } from './engine-index.ts';

const seconds = z.number().nullable();

export const keptEngine = z.strictObject({
  name: z.string().describe('Key; plus `-2` for the second build of the key'),
  key: id.describe('Hash of everything that determines the engine except build luck'),
  number: z.number().int().min(1).describe('Number of the build with this key'),
  buildId: id,
  sha256: sha256Schema,
  path: z.string(),
  bytes: count,
  timingCacheBytes: count.describe('Size of the timing cache that is kept with it'),
  state: z.enum(['asBuilt', 'unchecked', 'changed', 'missing']).describe('unchecked: bench compared only the size'),
  model: z.string().nullable(),
  precision: z.string().nullable(),
  modelSha256: sha256Schema.nullable(),
  flags: z.array(z.string()),
  gpuName: z.string().nullable(),
  computeCapability: z.string().nullable(),
  tensorrt: z.string().nullable().describe('Version of trtexec'),
  tensorrtLibrary: z.string().nullable().describe('Version of the library that trtexec loaded'),
  driver: z.string().nullable(),
  provenance: provenance.nullable(),
  builtAt: instant.nullable(),
  buildS: seconds.describe('As trtexec printed it'),
  wallS: seconds.describe('Wall time of the whole build process'),
  timingCacheSha256: sha256Schema.nullable().describe('Timing cache at the start of the build; null for none'),
  lastUsedAt: instant.nullable(),
  pinnedAt: instant.nullable(),
  frozenSince: instant.nullable(),
  usedBy: z.array(z.number().int()).describe('IDs of processes that use it now'),
});

export const engineFolder = z.strictObject({
  folder: z.string(),
  engines: z.array(keptEngine).describe('For pin, unpin and rm: the engines concerned'),
  loose: z.array(z.strictObject({ path: z.string(), bytes: count })).describe('Files of no engine'),
  timingCacheBytes: count,
  lost: z.array(z.strictObject({ name: z.string(), since: instant })).describe('Missing frozen engines'),
});

export type KeptEngine = OutputOf<typeof keptEngine>;

export type EngineFolder = OutputOf<typeof engineFolder>;

/** The content of the folder; the engines last used come first. */
export async function engineFolderOf(cache: EngineCache, hashes: boolean): Promise<EngineFolder> {
  const { frozen, links, pins } = await cache.index.read();
  const names = namesIn(cache.folder);
  const since = new Map(Object.values(frozen).map((each) => [each.buildId, each]));
  const stateOf = async (engine: CachedEngine): Promise<KeptEngine['state']> => {
    if (!existsSync(engine.path)) return 'missing';
    if (!hashes) return sizeOf(engine.path) === engine.note.bytes ? 'unchecked' : 'changed';
    return (await cache.isWhole(engine)) ? 'asBuilt' : 'changed';
  };
  const engines: KeptEngine[] = [];
  for (const note of Object.values(links)) {
    const { engineKey: key, flags, schemaVersion: _schema, variant: _variant, ...known } = note;
    const [name, path] = [engineName(note), cache.pathOf(note.sha256)];
    engines.push({
      ...known,
      flags: [...flags],
      name,
      key,
      path,
      bytes: sizeOf(path),
      timingCacheBytes: sizeOf(cache.file(`${note.sha256}.cache`)),
      state: await stateOf({ name, path, note }),
      lastUsedAt: statSync(cache.file(name + USED), { throwIfNoEntry: false })?.mtime.toISOString() ?? null,
      pinnedAt: pins[note.buildId] ?? null,
      frozenSince: since.get(note.buildId)?.since ?? null,
      usedBy: names.flatMap((entry) => (entry.startsWith(name + USE) ? (cache.userOf(entry) ?? []) : [])),
    });
    since.delete(note.buildId);
  }
  const known = new Set(engines.map(({ sha256 }) => sha256));
  const loose = names.filter((entry) => {
    const [, stem = ''] = /^([0-9a-f]{32,64}.*?)\.(?:plan|cache(?:\.json)?|plan\.changed)$/.exec(entry) ?? [];
    return stem !== '' && !known.has(stem);
  });
  const filesOf = (entries: readonly string[]) =>
    entries.map((entry) => ({ path: cache.file(entry), bytes: sizeOf(cache.file(entry)) }));
  const timing = filesOf(names.filter((entry) => /^timing-.*\.cache$/.test(entry)));
  const timeOf = ({ lastUsedAt, builtAt }: KeptEngine): number => Date.parse(lastUsedAt ?? builtAt ?? '1970-01-01');
  return {
    folder: cache.folder,
    engines: engines.toSorted((a, b) => timeOf(b) - timeOf(a) || a.name.localeCompare(b.name)),
    loose: filesOf(loose),
    timingCacheBytes: timing.reduce((sum, { bytes }) => sum + bytes, 0),
    lost: [...since.values()].map((each) => ({ name: each.name, since: each.since })),
  };
}
