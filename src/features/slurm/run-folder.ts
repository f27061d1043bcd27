import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { writeNote } from '../../files/files.ts';
import { namesIn, readJson } from '../../files/folders.ts';
import { UsageError } from '../../errors.ts';
import { slurmSchema } from '../../matrix/schema/slurm-schema.ts';
import { type Immutable, textOrNull } from '../../records/scalars.ts';
import { sweepSchema } from '../../records/sweep.ts';
import { storedPlanSchema } from '../../run/stored-plan.ts';
import { printable } from '../../text/printable.ts';
import { shardSchema } from '../../tools/slurm/states.ts';

const RUN_PLAN_VERSION = 2;

/** `plan.json`: everything that a task needs. It is written before submission and never changed. */
const runPlanSchema = z.object({
  schemaVersion: z.literal(RUN_PLAN_VERSION),
  sweep: sweepSchema,
  stored: storedPlanSchema,
  shards: z.array(shardSchema),
  settings: slurmSchema,
  storePath: z.string(),
});

type WrittenPlan = Immutable<Omit<z.infer<typeof runPlanSchema>, 'schemaVersion'>>;

export interface RunPlan extends WrittenPlan {
  readonly folder: RunFolder;
}

/** The files and folders of a run on Slurm. Their names contain only numbers and IDs. */
export class RunFolder {
  readonly path: string;
  readonly planPath: string;
  readonly jobsPath: string;
  readonly shards: string;

  constructor(path: string) {
    this.path = path;
    this.planPath = join(path, 'plan.json');
    this.jobsPath = join(path, 'jobs.jsonl');
    this.shards = join(path, 'shards');
  }

  /** The finished attempt of a shard, with its artefacts. */
  shard(shard: number): string {
    return join(this.shards, String(shard));
  }

  attempts(shard: number): string {
    return join(this.path, 'attempts', String(shard));
  }

  /** Folder of an attempt. The first attempt to finish is renamed to the folder of the shard. */
  attempt({ shard, jobId, restart }: Pick<ShardAttempt, 'shard' | 'jobId' | 'restart'>): string {
    return join(this.attempts(shard), `${jobId}.${restart}`);
  }

  /** Log of a task such as `8_3`. */
  log(task: string): string {
    return join(this.path, 'log', `${task}.out`);
  }

  async create(plan: WrittenPlan): Promise<void> {
    // Slurm does not create the folder of a log: without it, a task fails silently before it starts.
    for (const name of ['shards', 'attempts', 'log']) await mkdir(join(this.path, name), { recursive: true });
    await writeFile(join(this.path, '.gitignore'), '*\n');
    await writeNote(this.planPath, { schemaVersion: RUN_PLAN_VERSION, ...plan });
  }

  /** @throws UsageError when this is not the folder of a run */
  async readPlan(): Promise<RunPlan> {
    const text = await readFile(this.planPath, 'utf8').catch(() => null);
    if (text === null) {
      throw new UsageError(
        `${printable(this.path)}: plan.json not found: name the folder that \`bench run --executor slurm\` made, on a file system that every node sees`,
      );
    }
    try {
      const { schemaVersion: _, ...plan } = runPlanSchema.parse(JSON.parse(text));
      return { ...plan, folder: this };
    } catch (error) {
      throw new UsageError(`${printable(this.planPath)} is damaged, or was written by another version of bench`, {
        cause: error,
      });
    }
  }
}

/** `attempt.json`: the Slurm task of a shard, and how it ended. */
export const attemptSchema = z.object({
  schemaVersion: z.literal(1).default(1),
  shard: z.number().int(),
  jobId: z.string().regex(/^\d+$/),
  restart: z.number().int(),
  /** `8_3`; null outside an array. */
  task: z.string().nullable(),
  node: z.string(),
  startedAt: z.string(),
  endedAt: textOrNull.default(null),
  /** `late`: another attempt was done first. `abandoned`: an earlier version of bench gave up after restarts. */
  outcome: z.enum(['working', 'done', 'late', 'interrupted', 'failed', 'abandoned']).default('working'),
  signal: textOrNull.default(null),
  exitCode: z.number().int().nullable().default(null),
  problem: textOrNull.default(null),
});

export type ShardAttempt = z.infer<typeof attemptSchema>;

export async function writeAttempt(folder: RunFolder, attempt: ShardAttempt): Promise<void> {
  await writeNote(attemptPath(folder.attempt(attempt)), attempt);
}

/** Unfinished attempts at a shard, oldest first. */
export function readAttempts(folder: RunFolder, shard: number): ShardAttempt[] {
  const names = namesIn(folder.attempts(shard)).filter((name) => /^\d+\.\d+$/.test(name));
  return names
    .flatMap((name) => readJson(attemptPath(join(folder.attempts(shard), name)), attemptSchema) ?? [])
    .toSorted((a, b) => Number(a.jobId) - Number(b.jobId) || a.restart - b.restart);
}

/** Shards whose folder exists. An attempt gets the name of the folder when it is complete. */
export async function finishedShards({ folder, shards }: Pick<RunPlan, 'folder' | 'shards'>): Promise<Set<number>> {
  // Listing the folder again refreshes the cache of a network file system.
  const entries = await readdir(folder.shards, { withFileTypes: true }).catch(() => []);
  const names = new Set(entries.filter((entry) => entry.isDirectory()).map(({ name }) => name));
  return new Set(shards.flatMap(({ index }) => (names.has(String(index)) ? index : [])));
}

function attemptPath(attemptFolder: string): string {
  return join(attemptFolder, 'attempt.json');
}
