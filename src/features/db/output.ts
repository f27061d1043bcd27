import * as z from 'zod';

import { count, id, instant, output, type OutputOf } from '../../records/output-parts.ts';
import { attachment } from '../../files/layout.ts';
import { mergedRows } from '../../store/merge/merge-store.ts';
import { mergeConflict } from '../../store/merge/tables.ts';
import { storeDamage } from '../../store/verify/verify-store.ts';
import { comparedTable } from '../../store/verify/rebuilt.ts';

const bytes = count;

export const infoOutput = output('bench db info --json', {
  path: z.string(),
  storeSchema: z.string().describe('Name of the newest migration'),
  bytes: z
    .strictObject({
      file: bytes,
      wal: bytes,
      free: bytes.describe('Free space within the file, for new rows'),
      artefacts: bytes,
      engines: bytes,
      variants: bytes,
    })
    .describe('On the disk'),
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
    .describe('What `bench db prune --keep 90d` would take'),
});

export const verifyOutput = output('bench db verify --json', {
  path: z.string(),
  quick: z.boolean(),
  sweeps: count,
  runs: count,
  isDamaged: z.boolean().describe('False when there is nothing, or differences of another parser only'),
  found: z.array(storeDamage),
  rebuilt: z.array(comparedTable).nullable().describe('With --rebuild: what was compared; else null'),
});

export const backupOutput = output('bench db backup --json', { path: z.string(), bytes, runs: count });

export const mergeOutput = output('bench db merge --json', {
  stores: z.array(
    z.strictObject({
      path: z.string(),
      added: mergedRows,
      alreadyThere: z.strictObject({ sweeps: count, runs: count }),
      updatedSweeps: count.describe('Had come further in the other store'),
      conflicts: z.array(mergeConflict).describe('Rows that differ under the same id; those that were here are kept'),
      artefacts: z
        .strictObject({ folders: count, bytes, missing: count })
        .nullable()
        .describe('Null when they were left out, or lie in the same folder'),
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
      sharedFolders: count.describe('Runs whose artefacts stay for another store of this folder'),
    }),
  ),
  attachments: z
    .array(attachment.pick({ runId: true, name: true, bytes: true, attachedAt: true }))
    .describe('Files of people, by --attachments-older-than'),
  measuredNow: count.describe('Sweeps that stay as a process measures them'),
  vacuumed: z.boolean(),
  freeBytes: bytes.describe('Free space within the file, for new rows'),
});

export const rmOutput = output('bench db rm --json', {
  dryRun: z.boolean(),
  sweeps: z.array(
    z.strictObject({
      sweepId: id,
      name: z.string().nullable().describe('Name of its matrix, or its own name'),
      startedAt: instant.nullable(),
      runs: count.describe('With builds'),
      movedTo: z.string().nullable().describe('Folder of its artefacts now; null if there were none, or in a dry run'),
      sharedRuns: count.describe('Runs whose artefacts stay for another store of this folder'),
    }),
  ),
  findings: z.array(id).describe('Findings that go, with their acknowledgements'),
  reopened: z.array(id).describe('Findings that the sweep, or a later one, had ended'),
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
      toldTodaySweepId: id.nullable().describe("Null: today's rules do not tell it"),
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
