import * as z from 'zod';

import { RUN_ROLES } from '../../records/run.ts';
import { DAMAGE_KINDS } from '../../store/verify/damage.ts';
import { count, id, instant, output, provenance } from '../../records/output-parts.ts';

const bytes = count;
const kept = z.strictObject({ runs: count, bytes });

export const info = output('bench db info --json', {
  path: z.string(),
  storeSchema: z.string().describe('Name of the newest migration'),
  bytes: z
    .strictObject({
      file: bytes,
      wal: bytes,
      free: bytes.describe('Within the file, for rows to come'),
      artefacts: bytes,
      engines: bytes,
      variants: bytes,
    })
    .describe('On the disk'),
  rows: z.strictObject({
    sweeps: count,
    unfinishedSweeps: count,
    cells: count,
    builds: count,
    accuracies: count,
    baselines: count,
    openFindings: count,
    prunedRuns: count,
  }),
  runs: z.array(
    z.strictObject({ role: z.enum(RUN_ROLES), provenance, measured: count, built: count, unfit: count, failed: count }),
  ),
  samples: kept,
  layerProfiles: kept,
  artefactFiles: count,
  firstAt: instant.nullable(),
  lastAt: instant.nullable(),
  machines: z.array(
    z.strictObject({ host: z.string().nullable(), gpu: z.string().nullable(), environments: count, runs: count }),
  ),
  prunable: z
    .strictObject({ days: count, sweeps: count, sampleBytes: bytes, artefactBytes: bytes })
    .describe('What `bench db prune --keep 90d` would take'),
});

export const verify = output('bench db verify --json', {
  path: z.string(),
  quick: z.boolean(),
  sweeps: count,
  runs: count,
  isDamaged: z.boolean().describe('False when there are but leftovers of processes that are gone'),
  found: z.array(
    z.strictObject({ kind: z.enum(DAMAGE_KINDS), where: z.string(), what: z.string(), advice: z.string() }),
  ),
});

export const backup = output('bench db backup --json', { path: z.string(), bytes, runs: count });

export const merge = output('bench db merge --json', {
  stores: z.array(
    z.strictObject({
      path: z.string(),
      added: z.strictObject({
        sweeps: count,
        runs: count,
        cells: count,
        environments: count,
        builds: count,
        accuracy: count,
        baselines: count,
        findings: count,
        acknowledgements: count,
      }),
      alreadyThere: z.strictObject({ sweeps: count, runs: count }),
      updatedSweeps: count.describe('Had come further in the other store'),
      conflicts: z
        .array(
          z.strictObject({
            table: z.string(),
            columns: z.array(z.string()).describe('That differ; none when the run is here and this row of it is not'),
            rows: count,
            examples: z.array(z.string()).describe('Ids of some of them'),
          }),
        )
        .describe('Rows that differ under the same id; those that were here are kept'),
      artefacts: z
        .strictObject({ folders: count, bytes, missing: count })
        .nullable()
        .describe('Null when they were left out, or lie in the same folder'),
    }),
  ),
});

export const prune = output('bench db prune --json', {
  dryRun: z.boolean(),
  sweeps: z.array(
    z.strictObject({
      sweepId: id,
      startedAt: instant.nullable(),
      runs: count,
      sampleBytes: bytes,
      layerBytes: bytes,
      artefactBytes: bytes,
      sharedFolders: count.describe('Runs whose artefacts stay for another store of this folder'),
    }),
  ),
  attachments: z
    .array(z.strictObject({ runId: id, name: z.string(), bytes, attachedAt: instant }))
    .describe('Files of people, by --attachments-older-than'),
  measuredNow: count.describe('Sweeps that stay as a process measures them'),
  vacuumed: z.boolean(),
  freeBytes: bytes.describe('Within the file, for rows to come'),
});
