import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { readNoteText, sha256OfFile, writeAtomically } from '../../artefacts/files.ts';
import { idSchema } from '../../records/scalars.ts';
import { RUN_MANIFEST } from '../../artefacts/layout.ts';
import { type ReadRun, readRunFolder } from '../../artefacts/read/read-run.ts';
import { hashOf } from '../../records/cell.ts';
import type { RunFolder } from './run-folder.ts';

const measuredRun = z.object({ startedAt: z.string().nullable(), content: idSchema });

/** `attempt.json`: which task of Slurm works or worked on a shard, and how it ended. */
const attemptSchema = z.object({
  schemaVersion: z.literal(1),
  planSha256: z.string(),
  shard: z.number().int(),
  jobId: z.string().regex(/^\d+$/),
  restart: z.number().int(),
  /** `8_3`; null outside an array. */
  task: z.string().nullable(),
  node: z.string(),
  startedAt: z.string(),
  endedAt: z.string().nullable(),
  /** `abandoned`: restarted too often, so that it did nothing. `late`: another attempt was done first. */
  outcome: z.enum(['working', 'done', 'late', 'abandoned', 'interrupted', 'failed']),
  signal: z.string().nullable(),
  exitCode: z.number().int().nullable(),
  problem: z.string().nullable(),
  /** Runs copied from an earlier attempt. */
  takenUp: z.number().int(),
  /** What a finished shard consists of: every run, with a hash of its files. */
  runs: z.record(idSchema, measuredRun),
});

export type ShardAttempt = z.infer<typeof attemptSchema>;
export type MeasuredRun = z.infer<typeof measuredRun>;

export async function writeAttempt(folder: RunFolder, attempt: ShardAttempt): Promise<void> {
  await writeAtomically(attemptPath(folder.attempt(attempt)), `${JSON.stringify(attempt, null, 1)}\n`);
}

/** Null where there is none in a folder, or no valid one. */
export async function readAttempt(attemptFolder: string): Promise<ShardAttempt | null> {
  const text = await readNoteText(attemptPath(attemptFolder));
  try {
    return text === null ? null : attemptSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** The attempts at a shard that did not finish it, the oldest first. */
export async function readAttempts(folder: RunFolder, shard: number): Promise<ShardAttempt[]> {
  const names = await readdir(folder.attempts(shard)).catch((): string[] => []);
  const attempts = names.filter((name) => /^\d+\.\d+$/.test(name));
  const read = await Promise.all(attempts.map((name) => readAttempt(join(folder.attempts(shard), name))));
  return read
    .filter((attempt) => attempt !== null)
    .toSorted((a, b) => Number(a.jobId) - Number(b.jobId) || a.restart - b.restart);
}

/** The shards that have the folder of a finished attempt. */
export async function finishedShards({ shards }: RunFolder): Promise<Set<number>> {
  // A network file system keeps old listings: listing the folder again brings the new one.
  const entries = await readdir(shards, { withFileTypes: true }).catch(() => []);
  const folders = entries.filter((entry) => entry.isDirectory() && /^\d+$/.test(entry.name));
  return new Set(folders.map(({ name }) => Number(name)));
}

/** Reads the folder of a run with what identifies its content: all that the process left, and `run.json`. */
export async function readContent(runFolder: string): Promise<{ readonly read: ReadRun; readonly run: MeasuredRun }> {
  const [read] = await readRunFolder(runFolder, { isForeign: true });
  // Without an id it has no readable `run.json`, or something else in its place.
  if (read === undefined || read.manifest.runId === null) throw new Error(`${runFolder}: no run of bench`);
  const manifest = await sha256OfFile(join(runFolder, RUN_MANIFEST));
  const content = hashOf({ run: read.contentId, manifest: manifest.sha256 });
  return { read, run: { startedAt: read.manifest.startedAt, content } };
}

function attemptPath(attemptFolder: string): string {
  return join(attemptFolder, 'attempt.json');
}
