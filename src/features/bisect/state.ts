import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

import * as z from 'zod';

import { writeNote } from '../../artefacts/files.ts';
import { makeOwnFolder, readJson } from '../../artefacts/folders.ts';
import type { Io } from '../../cli/io.ts';
import { migrationsFolder } from '../../cli/store-location.ts';
import { warnIfMigrated, usingStore } from '../../cli/with-store.ts';
import { UsageError } from '../../errors.ts';
import { STEP_VERDICTS } from './turns.ts';
import { holderText } from '../../process/lock-holder.ts';
import { hashOf } from '../../text/canonical-json.ts';
import { factorSchema } from '../../matrix/points/factors.ts';
import { isMetric } from '../../records/metric.ts';
import type { Immutable } from '../../records/scalars.ts';
import { lockSweep, sweepLockHolder } from '../../run/sweep-lock.ts';
import { type OpenStore, openStore } from '../../store/file/open.ts';

/** The request; the same request resumes. */
const requestSchema = z.object({
  cwd: z.string(),
  matrix: z.string().nullable(),
  cell: z.string().nullable(),
  metric: z.string().refine(isMetric).nullable(),
  trtexec: z.string().nullable(),
  replay: z.string().nullable(),
  maxRuns: z.number().int(),
  search: z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('commits'),
      good: z.string(),
      bad: z.string(),
      goodRef: z.string(),
      badRef: z.string(),
      command: z.array(z.string()),
    }),
    z.object({ kind: z.literal('factors'), file: z.string(), factors: z.array(factorSchema) }),
  ]),
});

const endsSchema = z.object({
  verdict: z.enum(['slower', 'notSlower', 'unclear']),
  /** At that time; later runs alternate with candidates. */
  goodRuns: z.number().int(),
  badRuns: z.number().int(),
});

const stepSchema = z.object({
  candidate: z.string(),
  goodBefore: z.number().int(),
  badBefore: z.number().int(),
  /** Null while being measured. */
  verdict: z.enum(STEP_VERDICTS).nullable(),
  reason: z.string().nullable(),
  driftPercent: z.number().nullable(),
});

const stateSchema = z.object({
  schemaVersion: z.literal(1),
  bisectId: z.string(),
  startedAt: z.string(),
  request: requestSchema,
  cellKey: z.string().nullable(),
  ends: endsSchema.nullable(),
  steps: z.array(stepSchema),
  isFinished: z.boolean(),
});

export type BisectRequest = Immutable<z.infer<typeof requestSchema>>;
export type CommitRequest = Extract<BisectRequest['search'], { kind: 'commits' }>;
export type FactorRequest = Extract<BisectRequest['search'], { kind: 'factors' }>;
export type StoredStep = Immutable<z.infer<typeof stepSchema>>;
export type BisectState = Immutable<z.infer<typeof stateSchema>>;

const STATE_FILE = 'state.json';

/** Revisions count by commit, not by the name given. */
export function idOfRequest(request: BisectRequest): string {
  const { search } = request;
  const plain = search.kind === 'commits' ? { ...search, goodRef: '', badRef: '' } : search;
  return hashOf({ ...request, search: plain });
}

export function newState(request: BisectRequest, startedAt: string): BisectState {
  return {
    schemaVersion: 1,
    bisectId: idOfRequest(request),
    startedAt,
    request,
    cellKey: null,
    ends: null,
    steps: [],
    isFinished: false,
  };
}

/** Null where there is nothing to resume. */
export function readState(folder: string, bisectId: string): BisectState | null {
  return readJson(join(folder, bisectId, STATE_FILE), stateSchema);
}

export function newestUnfinished(folder: string): BisectState | null {
  if (!existsSync(folder)) return null;
  const states = readdirSync(folder).flatMap((name) => readState(folder, name) ?? []);
  const unfinished = states.filter(({ isFinished }) => !isFinished);
  return unfinished.toSorted((a, b) => (a.startedAt < b.startedAt ? 1 : -1))[0] ?? null;
}

export interface Session {
  readonly store: OpenStore;
  readonly io: Io;
  readonly telemetry: boolean;
  /** Its own folder, next to the store: state, logs, worktrees, engines of its own. */
  readonly folder: string;
  /** As saved on disk. */
  readonly state: () => BisectState;
  readonly save: (change: Partial<BisectState>) => Promise<void>;
}

export function bisectFolderOf(storePath: string): string {
  return join(dirname(storePath), 'bisect');
}

/** Engines that only one subject may load: its own program built them. */
export function enginesOf(folder: string): string {
  return join(folder, 'engines');
}

/**
 * Runs `work` while no other process works on the bisection.
 * @throws UsageError when another one does
 */
export async function inSession<Result>(
  path: string,
  first: BisectState,
  telemetry: boolean,
  io: Io,
  work: (session: Session) => Promise<Result>,
): Promise<Result> {
  const all = bisectFolderOf(path);
  await makeOwnFolder(all);
  const holder = sweepLockHolder(all, first.bisectId);
  if (holder !== null) throw new UsageError(`${holderText(holder)} works on this bisection already`);
  const unlock = lockSweep(all, first.bisectId);
  const store = warnIfMigrated(openStore(path, migrationsFolder()), io);
  let state = first;
  const save = async (change: Partial<BisectState>): Promise<void> => {
    state = { ...state, ...change };
    await writeNote(join(all, state.bisectId, STATE_FILE), state);
  };
  const begun = async (): Promise<Result> => {
    await save({});
    return await work({ store, io, telemetry, folder: join(all, first.bisectId), state: () => state, save });
  };
  try {
    return await usingStore(store, begun);
  } finally {
    unlock();
  }
}
