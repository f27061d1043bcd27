import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import type { Io } from '../../cli/io.ts';
import { lastLinesOf, writeNote } from '../../files/files.ts';
import { namesIn, readJson } from '../../files/folders.ts';
import { UsageError, orNull } from '../../errors.ts';
import { slurmSchema } from '../../matrix/schema/slurm-schema.ts';
import { type Immutable, textOrNull } from '../../records/scalars.ts';
import { sweepSchema } from '../../records/sweep.ts';
import { storedPlanSchema } from '../../run/stored-plan.ts';
import { printable } from '../../text/printable.ts';
import { slurmClient } from '../../tools/slurm/slurm-client.ts';
import { type ShardStatus, type TaskRow, isLiving, reconcileShard } from '../../tools/slurm/states.ts';
import { shardSchema } from '../../matrix/plan/shards.ts';

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
export function runFolder(path: string) {
  const shards = join(path, 'shards');
  const attempts = (shard: number): string => join(path, 'attempts', String(shard));
  return {
    path,
    planPath: join(path, 'plan.json'),
    jobsPath: join(path, 'jobs.jsonl'),
    shards,
    /** The finished attempt of a shard, with its artefacts. */
    shard: (shard: number) => join(shards, String(shard)),
    attempts,
    /** Folder of an attempt. The first attempt to finish is renamed to the folder of the shard. */
    attempt: ({ shard, jobId, restart }: ShardAttempt) => join(attempts(shard), `${jobId}.${restart}`),
    /** Log of a task such as `8_3`. */
    log: (task: string) => join(path, 'log', `${task}.out`),
  };
}

export type RunFolder = ReturnType<typeof runFolder>;

export async function createRun({ path, planPath }: RunFolder, plan: WrittenPlan): Promise<void> {
  // Slurm does not create the folder of a log: without it, a task fails silently before it starts.
  for (const name of ['shards', 'attempts', 'log']) await mkdir(join(path, name), { recursive: true });
  await writeFile(join(path, '.gitignore'), '*\n');
  await writeNote(planPath, { schemaVersion: RUN_PLAN_VERSION, ...plan });
}

/** @throws UsageError when this is not the folder of a run */
export async function readRun(path: string): Promise<RunPlan> {
  const folder = runFolder(path);
  const text = await readFile(folder.planPath, 'utf8').catch(() => null);
  if (text === null) {
    throw new UsageError(
      `${printable(path)}: plan.json not found: name the folder that \`bench run --executor slurm\` made, on a file system that every node sees`,
    );
  }
  try {
    const { schemaVersion: _, ...plan } = runPlanSchema.parse(JSON.parse(text));
    return { ...plan, folder };
  } catch (cause) {
    const problem = `${printable(folder.planPath)} is damaged, or was written by another version of bench`;
    throw new UsageError(problem, { cause });
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
  /** `late`: another attempt was done first. */
  outcome: z.enum(['working', 'done', 'late', 'failed']).catch('failed').default('working'),
  signal: textOrNull.default(null),
  exitCode: z.number().int().nullable().default(null),
  problem: textOrNull.default(null),
});

export type ShardAttempt = z.infer<typeof attemptSchema>;

export async function writeAttempt(folder: RunFolder, attempt: ShardAttempt): Promise<void> {
  await writeNote(attemptPath(folder.attempt(attempt)), attempt);
}

/** Unfinished attempts at a shard, oldest first. */
function readAttempts(folder: RunFolder, shard: number): ShardAttempt[] {
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

const jobShape = { at: z.string(), jobId: z.string().regex(/^\d+$/), cluster: z.string().nullable() };
const entrySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('submitted'), ...jobShape, offset: z.number().int(), shards: z.array(z.number().int()) }),
  z.object({ kind: z.literal('collector'), ...jobShape }),
]);

type JobEntry = z.infer<typeof entrySchema>;
type SubmittedArray = Extract<JobEntry, { kind: 'submitted' }>;

/** Appends to `jobs.jsonl` and syncs it before the next step. */
export function recordJob({ jobsPath }: RunFolder, entry: JobEntry): void {
  appendFileSync(jobsPath, `${JSON.stringify(entry)}\n`, { flush: true });
}

/** Ignores a line that a crash truncated. */
export function readJobs({ jobsPath }: RunFolder): JobEntry[] {
  const lines = (orNull(() => readFileSync(jobsPath, 'utf8')) ?? '').split('\n');
  return lines.flatMap((line) => orNull(() => entrySchema.parse(JSON.parse(line))) ?? []);
}

type ShardTask = NonNullable<ReturnType<typeof taskOf>>;

/** The task of a shard in its newest array; null if it was never submitted. */
function taskOf(arrays: readonly SubmittedArray[], shard: number) {
  const array = arrays.findLast((each) => each.shards.includes(shard));
  return array === undefined ? null : { array, task: `${array.jobId}_${shard - array.offset}` };
}

const DAY_MS = 86_400_000;
const TAIL_LINES = 3;

/**
 * Gives the state of every shard: a finished folder is the truth, Slurm only explains missing ones.
 * @param lostAfter seconds after which a shard that Slurm does not list counts as lost
 */
export function shardStates(plan: RunPlan, { lostAfter }: { readonly lostAfter: number }, io: Io) {
  const { folder, shards } = plan;
  const seenMs = new Map<number, number>();
  const noted = new Set<string>();
  return async (): Promise<ShardStatus[]> => {
    const arrays = readJobs(folder).filter((entry) => entry.kind === 'submitted');
    const tasks = new Map(shards.map(({ index }) => [index, taskOf(arrays, index)]));
    const before = await finishedShards(plan);
    const missing = [...tasks].flatMap(([index, task]) => (before.has(index) ? [] : (task ?? [])));
    const { problems, rows } = await askSlurm(missing, io);
    for (const text of problems) {
      if (!noted.has(text)) io.err(`note: ${printable(text)}\n`);
      noted.add(text);
    }
    // A shard may have finished during the query.
    const done = await finishedShards(plan);
    return [...tasks].map(([shard, task]): ShardStatus => {
      const row = task && (rows.get(task.task) ?? null);
      const log = task && folder.log(task.task);
      const unknown = { node: null, restarts: null, exitCode: null, signal: null, lastLines: [] };
      const known = { shard, task: task?.task ?? null, log, ...unknown };
      if (done.has(shard)) return { ...known, state: 'done', reason: '' };
      const nowMs = io.now().getTime();
      if (row !== null && isLiving(row)) seenMs.set(shard, nowMs);
      const attempt = readAttempts(folder, shard).findLast((each) => each.task === known.task) ?? null;
      const lastSeenMs = Math.max(
        seenMs.get(shard) ?? 0,
        task === null ? 0 : Date.parse(task.array.at),
        log === null ? 0 : (statSync(log, { throwIfNoEntry: false })?.mtimeMs ?? 0),
        attempt === null ? 0 : Date.parse(attempt.endedAt ?? attempt.startedAt),
      );
      const { state, reason } = reconcileShard({
        isSubmitted: task !== null,
        endedWith: attempt?.exitCode ?? null,
        row,
        controllerAnswers: problems.size === 0,
        isOverdue: problems.size === 0 && nowMs - lastSeenMs > lostAfter * 1000,
      });
      const isBad = state === 'failed' || state === 'timeout' || state === 'lost';
      const problem = state === 'failed' && attempt?.problem ? `: ${attempt.problem}` : '';
      return {
        ...known,
        state,
        reason: `${reason}${problem}`,
        node: row?.node ?? attempt?.node ?? null,
        restarts: row?.restarts ?? attempt?.restart ?? null,
        exitCode: row?.exitCode ?? attempt?.exitCode ?? null,
        signal: row?.signal ?? attempt?.signal ?? null,
        lastLines: isBad && log !== null ? lastLinesOf(log, TAIL_LINES).map(printable) : [],
      };
    });
  };
}

/** What Slurm says of tasks of unfinished shards, and why it does not answer. */
async function askSlurm(unfinished: readonly ShardTask[], io: Io) {
  const client = slurmClient(io);
  const rows = new Map<string, TaskRow>();
  const problems = new Set<string>();
  for (const [cluster, tasks] of Map.groupBy(unfinished, ({ array }) => array.cluster)) {
    const ids = [...new Set(tasks.map(({ array }) => array.jobId))];
    const queue = await client.queue(ids, cluster);
    if (typeof queue === 'string') {
      problems.add(`Slurm does not answer (${queue}); bench draws no conclusion from that`);
      continue;
    }
    const isListed = ({ task }: ShardTask): boolean => queue.some((row) => row.task === task);
    const since = Math.min(...tasks.map(({ array }) => Date.parse(array.at))) - DAY_MS;
    const day = new Date(since).toISOString().slice(0, 10);
    const past = tasks.every(isListed) ? [] : await client.past(ids, day, cluster);
    // squeue takes precedence for active tasks, because accounting lags.
    for (const row of [...past.filter(({ state }) => state !== 'PENDING'), ...queue]) rows.set(row.task, row);
  }
  return { problems, rows };
}
