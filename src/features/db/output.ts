import * as z from 'zod';

import { count, id, instant, output, type OutputOf } from '../../records/output-parts.ts';
import { mergedRows } from '../../store/merge/merge-store.ts';
import { mergeConflict } from '../../store/merge/tables.ts';
import { comparedTable, storeDamage } from '../../store/verify/verify-store.ts';
import { attachment } from '../../records/attachment.ts';

const bytes = count;

export const infoOutput = output('bench db info --json', {
  path: z.string(),
  storeSchema: z.string().describe('Name of the newest migration'),
  bytes: z
    .strictObject({
      file: bytes,
      wal: bytes,
      free: bytes.describe('Free space within the file, which new rows use'),
      artefacts: bytes,
      engines: bytes,
      variants: bytes,
    })
    .describe('Sizes on disk'),
  rows: z.strictObject({
    sweeps: count,
    unfinishedSweeps: count,
    runs: count,
    prunedRuns: count,
    cells: count,
    builds: count,
    samples: count,
    layerProfiles: count,
    accuracies: count,
    baselines: count,
    openFindings: count,
  }),
  prunable: z
    .strictObject({ days: count, sweeps: count, sampleBytes: bytes, artefactBytes: bytes })
    .describe('What `bench db prune --keep 90d` would delete'),
});

export const verifyOutput = output('bench db verify --json', {
  path: z.string(),
  quick: z.boolean(),
  sweeps: count,
  runs: count,
  isDamaged: z.boolean().describe('False without damage; differences of another parser are not damage'),
  found: z.array(storeDamage),
  rebuilt: z.array(comparedTable).nullable().describe('Compared tables; null without --rebuild'),
});

export const backupOutput = output('bench db backup --json', { path: z.string(), bytes, runs: count });

export const mergeOutput = output('bench db merge --json', {
  stores: z.array(
    z.strictObject({
      path: z.string(),
      added: mergedRows,
      alreadyThere: z.strictObject({ sweeps: count, runs: count }),
      updatedSweeps: count.describe('Sweeps with more runs in the other store'),
      conflicts: z.array(mergeConflict).describe('Rows that differ under the same id; the rows of this store stay'),
      artefacts: z
        .strictObject({ folders: count, bytes, missing: count })
        .nullable()
        .describe('Null if they were left out, or both stores share a folder'),
    }),
  ),
});

export const pruneOutput = output('bench db prune --json', {
  dryRun: z.boolean(),
  sweeps: z.array(
    z.strictObject({
      sweepId: id,
      startedAt: instant.nullable(),
      runs: count,
      sampleBytes: bytes,
      layerBytes: bytes,
      artefactBytes: bytes,
      sharedFolders: count.describe('Runs whose artefacts stay because another store in this folder has them'),
    }),
  ),
  attachments: z
    .array(attachment.pick({ runId: true, name: true, bytes: true, attachedAt: true }))
    .describe('Deleted attachments: see --attachments-older-than'),
  measuredNow: count.describe('Sweeps that stay because they are being measured'),
  vacuumed: z.boolean(),
  freeBytes: bytes.describe('Free space within the file, which new rows use'),
});

export const rmOutput = output('bench db rm --json', {
  dryRun: z.boolean(),
  sweeps: z.array(
    z.strictObject({
      sweepId: id,
      name: z.string().nullable().describe('Name of its matrix, or its own name'),
      startedAt: instant.nullable(),
      runs: count.describe('Number of runs and builds'),
      movedTo: z.string().nullable().describe('New folder of its artefacts; null without artefacts, or in a dry run'),
      sharedRuns: count.describe('Runs whose artefacts stay because another store in this folder has them'),
    }),
  ),
  findings: z.array(id).describe('Removed findings; their acknowledgements are removed with them'),
  reopened: z.array(id).describe('Findings that are open again: a removed or later sweep had ended them'),
  judgedAgain: count.describe('Later sweeps that the next `bench check` judges again'),
});

export const rejudgeOutput = output('bench db rejudge --json', {
  nights: count,
  changes: z.array(
    z.strictObject({
      key: id,
      label: z.string(),
      direction: z.enum(['slower', 'faster']),
      changePercent: z.number(),
      firstBadSweepId: id.nullable(),
      toldTodaySweepId: id.nullable().describe("Null: today's rules do not report it"),
      toldThenSweepId: id.nullable().describe('Null: it was not reported then'),
    }),
  ),
});

export type InfoOutput = OutputOf<typeof infoOutput>;
export type VerifyOutput = OutputOf<typeof verifyOutput>;
export type BackupOutput = OutputOf<typeof backupOutput>;
export type MergeOutput = OutputOf<typeof mergeOutput>;
export type PruneOutput = OutputOf<typeof pruneOutput>;
export type RmOutput = OutputOf<typeof rmOutput>;
export type RejudgeOutput = OutputOf<typeof rejudgeOutput>;
