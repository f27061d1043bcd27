import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import * as z from 'zod';

import { writeAtomically } from '../../artefacts/files.ts';
import { attemptFields } from './attempt-fields.ts';
import type { RunFolder } from './run-folder.ts';

/** What one attempt at a shard says of itself: written when it begins, and again when it ends. */
const attemptSchema = z.object({
  schemaVersion: z.literal(1),
  ...attemptFields,
  shard: z.number().int(),
  /** `8_3`; null outside an array. */
  task: z.string().nullable(),
  endedAt: z.string().nullable(),
  /** `abandoned`: it was restarted too often, and did nothing. `late`: another attempt's bundle was there first. */
  outcome: z.enum(['working', 'bundled', 'late', 'abandoned', 'interrupted', 'failed']),
  signal: z.string().nullable(),
  exitCode: z.number().int().nullable(),
  problem: z.string().nullable(),
  /** Runs that it took over from an earlier attempt. */
  takenUp: z.number().int().default(0),
});

export type AttemptRecord = z.infer<typeof attemptSchema>;

/** A shard that breaks nodes must not go round for ever. */
export const MAX_RESTARTS = 3;

export async function writeAttempt(folder: RunFolder, record: AttemptRecord): Promise<void> {
  const path = join(folder.attempts(record.shard), `${record.jobId}.${record.restart}.json`);
  await writeAtomically(path, `${JSON.stringify(record, null, 1)}\n`);
}

/** The oldest first. */
export function readAttempts(folder: RunFolder, shard: number): AttemptRecord[] {
  let names: string[];
  try {
    names = readdirSync(folder.attempts(shard));
  } catch {
    return [];
  }
  return names
    .filter((name) => /^\d+\.\d+\.json$/.test(name))
    .flatMap((name) => {
      try {
        const text = readFileSync(join(folder.attempts(shard), name), 'utf8');
        return [attemptSchema.parse(JSON.parse(text))];
      } catch {
        return [];
      }
    })
    .toSorted((a, b) => Number(a.jobId) - Number(b.jobId) || a.restart - b.restart);
}
