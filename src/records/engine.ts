import * as z from 'zod';

import { count, id, instant, type OutputOf, provenance } from './output-parts.ts';
import { sha256Schema } from './scalars.ts';

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

export function engineLabel({ model, precision, number }: KeptEngine): string {
  const words = [model ?? 'unknown', precision === 'unstated' ? null : precision];
  const build = number === 1 ? '' : ` #${number}`;
  return `${words.filter((word) => word !== null).join(' ')}${build}`;
}
