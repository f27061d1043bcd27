import * as z from 'zod';

import { PROVENANCES } from '../../records/provenance.ts';
import { ENGINE_STATES } from '../../records/engine.ts';
import { count, id, instant, output } from '../../records/output-parts.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const seconds = z.number().nullable();

const engine = z.strictObject({
  key: id.describe('Everything that decides it, apart from the luck of the build'),
  number: z.number().int().min(1).describe('Which of several builds of the same key'),
  buildId: id,
  sha256,
  path: z.string(),
  bytes: count,
  state: z.enum(ENGINE_STATES).describe('unchecked: only the size was looked at'),
  model: z.string().nullable(),
  precision: z.string().nullable(),
  modelSha256: sha256.nullable(),
  flags: z.array(z.string()),
  gpuName: z.string().nullable(),
  computeCapability: z.string().nullable(),
  tensorrt: z.string().nullable().describe('Of trtexec'),
  tensorrtLibrary: z.string().nullable().describe('Of the library that it loaded'),
  driver: z.string().nullable(),
  provenance: z.enum(PROVENANCES).nullable(),
  builtAt: instant.nullable(),
  buildS: seconds.describe('As trtexec says'),
  wallS: seconds.describe('Of the whole process that built it'),
  timingCacheSha256: sha256.nullable().describe('What the build began with; null for nothing'),
  lastUsedAt: instant.nullable(),
  pinnedAt: instant.nullable(),
  frozenSince: instant.nullable(),
  usedBy: z.array(z.number().int()).describe('Processes that work with it now'),
});

const looseFile = z.strictObject({ path: z.string(), bytes: count });

export const engines = output('bench engines list|verify|pin|unpin|rm --json', {
  folder: z.string(),
  engines: z.array(engine).describe('For pin, unpin and rm: those that it concerned'),
  loose: z.array(looseFile).describe('Engines that were moved aside, or have no note'),
  timingCacheBytes: count,
  lost: z
    .array(z.strictObject({ name: z.string(), since: instant }))
    .describe('Frozen engines that are not there any more'),
});

export const enginesGc = output('bench engines gc --json', {
  folder: z.string(),
  maxBytes: count,
  isDryRun: z.boolean(),
  bytesBefore: count,
  bytesAfter: count,
  removed: z.array(engine),
  removedFiles: z.array(looseFile),
  kept: z.array(z.strictObject({ engine, because: z.string() })),
});
