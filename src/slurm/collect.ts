import { existsSync, readFileSync } from 'node:fs';
import { copyFile, link, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { writeAtomically } from '../artefacts/files.ts';
import { toRunRecord } from '../artefacts/identify.ts';
import { runFolderOf, temporaryPath } from '../artefacts/layout.ts';
import { readRunFolder } from '../artefacts/read-run.ts';
import type { RunRecord } from '../domain/run-record.ts';
import { isRecord } from '../domain/unknown-values.ts';
import { saveState } from '../ingest/run-sweep.ts';
import type { StoreDatabase } from '../store/open.ts';
import type { RunWriter } from '../store/save-run.ts';
import { findSweep, saveSweepCells } from '../store/sweeps.ts';
import {
  BUNDLE_RUNS,
  BundleError,
  type BundleManifest,
  bundledShards,
  readBundle,
  verifyFile,
} from './bundle.ts';
import type { RunFolder, RunPlan } from './run-folder.ts';

export interface CollectContext {
  readonly db: StoreDatabase;
  readonly writer: RunWriter;
  readonly artefactsFolder: string;
  readonly signal: AbortSignal;
  /** So many shards of so many are looked through. */
  readonly onProgress: (done: number, all: number) => void;
  readonly onNote: (text: string) => void;
}

export interface Collected {
  /** Shards whose bundle is in the store. */
  readonly shards: ReadonlySet<number>;
  readonly stored: number;
  readonly alreadyStored: number;
  readonly refused: readonly RefusedBundle[];
  /** When the last of them was done. */
  readonly latestEnd: string | null;
  /** Shards that were taken in before, whether their bundle is still there or not. */
  readonly takenBefore: ReadonlySet<number>;
}

export interface RefusedBundle {
  readonly shard: number;
  readonly problem: string;
}

/** So many bundles are read while another is stored. */
const READ_AHEAD = 4;
/** To bring a transaction to the disk takes longer than what a small bundle has in it. */
const STORED_AT_ONCE = 16;

/**
 * Takes every bundle into the store that is not there yet, whole ones only, after their bytes were compared with their
 * hashes. Can be done as often as one likes.
 */
export async function collectBundles(
  folder: RunFolder,
  plan: RunPlan,
  context: CollectContext,
): Promise<Collected> {
  const { signal } = context;
  await openCollectedSweep(plan, context);
  const known = new KnownBundles(join(context.artefactsFolder, plan.sweep.sweepId));
  const takenBefore = known.shards;
  const refused: RefusedBundle[] = [];
  const shards = new Set<number>();
  let [stored, alreadyStored, done] = [0, 0, 0];
  let latestEnd: string | null = null;
  const waiting = [...(await bundledShards(folder.bundles))].toSorted((a, b) => a - b);
  const reading: Promise<TakenBundle>[] = [];
  const take = (shard: number) => {
    const taken = takeBundle(folder, plan, shard, context, known);
    // What goes wrong is told when its turn comes.
    taken.catch(() => {});
    reading.push(taken);
  };
  let group: TakenOne[] = [];
  const storeGroup = () => {
    storeBundles(group, context);
    for (const { manifest, records, sha256 } of group) {
      known.add(manifest.shard, sha256);
      stored += records.length;
      alreadyStored += manifest.runs.length - records.length;
      if (latestEnd === null || manifest.endedAt > latestEnd) latestEnd = manifest.endedAt;
      shards.add(manifest.shard);
    }
    group = [];
  };
  try {
    for (const shard of waiting.splice(0, READ_AHEAD)) take(shard);
    for (let next = reading.shift(); next !== undefined; next = reading.shift()) {
      signal.throwIfAborted();
      const bundle = await next;
      const ahead = waiting.shift();
      if (ahead !== undefined) take(ahead);
      done += 1;
      if (bundle.kind === 'refused') refused.push(bundle);
      if (bundle.kind === 'superseded') {
        context.onNote(`shard ${bundle.shard}: its bundle ${bundle.problem}`);
        alreadyStored += bundle.manifest.runs.length;
        shards.add(bundle.shard);
      }
      if (bundle.kind !== 'taken') continue;
      group.push(bundle);
      if (group.length >= STORED_AT_ONCE) storeGroup();
      context.onProgress(done, done + reading.length + waiting.length);
    }
    storeGroup();
  } finally {
    await Promise.allSettled(reading);
    await known.save();
  }
  return { shards, stored, alreadyStored, refused, latestEnd, takenBefore };
}

/** What a kill cuts off here is taken in the next time: bundles stay until then. */
function storeBundles(bundles: readonly TakenOne[], { db, writer }: CollectContext): void {
  const records = bundles.flatMap((bundle) => bundle.records);
  if (records.length === 0) return;
  db.transaction(() => records.forEach((record) => writer.saveRun(record)), {
    behavior: 'immediate',
  });
}

/** The sweep is finished when every shard is in. */
export async function closeCollectedSweep(
  plan: RunPlan,
  { shards, latestEnd }: Collected,
  context: Pick<CollectContext, 'artefactsFolder' | 'db'>,
): Promise<void> {
  const sweep = findSweep(context.db, plan.sweep.sweepId);
  if (sweep === null || sweep.state === 'finished' || shards.size < plan.shards.length) return;
  const finished = { ...sweep, state: 'finished' as const, finishedAt: latestEnd };
  await saveState(context, plan.stored, finished);
}

async function openCollectedSweep(
  { sweep, stored }: RunPlan,
  { db, writer, artefactsFolder }: CollectContext,
): Promise<void> {
  await mkdir(join(artefactsFolder, sweep.sweepId), { recursive: true });
  if (findSweep(db, sweep.sweepId) !== null) return;
  await saveState({ artefactsFolder, db }, stored, sweep);
  saveSweepPlan({ db, writer }, { sweep, stored });
}

/** What a sweep sets out to measure. */
export function saveSweepPlan(
  { db, writer }: Pick<CollectContext, 'db' | 'writer'>,
  { sweep, stored: { plan } }: Pick<RunPlan, 'stored' | 'sweep'>,
): void {
  db.transaction(
    () => {
      for (const { cell } of plan.cells) writer.saveCell(cell);
      const repeats = plan.repeats;
      const rows = plan.cells.map(({ cell }) => ({ cellKey: cell.key, engineKey: null, repeats }));
      saveSweepCells(db, sweep.sweepId, rows);
    },
    { behavior: 'immediate' },
  );
}

type TakenBundle =
  | { readonly kind: 'missing' }
  | ({ readonly kind: 'refused' } & RefusedBundle)
  /** The shard is in the store, from an earlier bundle. */
  | ({ readonly kind: 'superseded'; readonly manifest: BundleManifest } & RefusedBundle)
  | {
      readonly kind: 'taken';
      readonly manifest: BundleManifest;
      readonly sha256: string;
      /** Those that the store does not have. */
      readonly records: readonly RunRecord[];
    };

type TakenOne = Extract<TakenBundle, { kind: 'taken' }>;

async function takeBundle(
  folder: RunFolder,
  plan: RunPlan,
  shard: number,
  context: CollectContext,
  known: KnownBundles,
): Promise<TakenBundle> {
  const reading = await readBundle(folder.bundle(shard));
  if (reading.kind === 'missing') return { kind: 'missing' };
  if (reading.kind === 'faulty') return { kind: 'refused', shard, problem: reading.problem };
  const { manifest, sha256 } = reading;
  const alien = alienBundle(plan, shard, manifest);
  if (alien !== null) return { kind: 'refused', shard, problem: alien };
  const before = known.of(shard);
  if (
    before !== null &&
    before !== sha256 &&
    manifest.runs.some(({ runId }) => context.writer.hasRun(runId))
  ) {
    const problem = 'is another one than was collected before: the store keeps what it has';
    return { kind: 'superseded', shard, problem, manifest };
  }
  try {
    const records: RunRecord[] = [];
    const keys = new Set(plan.shards[shard]?.cellKeys);
    for (const run of manifest.runs) {
      if (context.writer.hasRun(run.runId)) continue;
      const from = join(folder.bundle(shard), BUNDLE_RUNS, run.runId);
      records.push(await takeRun(from, run, manifest.sweepId, keys, context));
    }
    return { kind: 'taken', manifest, sha256, records };
  } catch (error) {
    if (error instanceof BundleError) return { kind: 'refused', shard, problem: error.message };
    throw error;
  }
}

/** Bundles that no collector would take: their shards have to be measured again. */
export async function faultyBundles(folder: RunFolder, plan: RunPlan): Promise<RefusedBundle[]> {
  const faulty: RefusedBundle[] = [];
  for (const shard of await bundledShards(folder.bundles)) {
    const reading = await readBundle(folder.bundle(shard));
    const problem =
      reading.kind === 'read'
        ? (alienBundle(plan, shard, reading.manifest) ??
          (await damageOf(folder.bundle(shard), reading.manifest)))
        : reading.kind === 'faulty'
          ? reading.problem
          : null;
    if (problem !== null) faulty.push({ shard, problem });
  }
  return faulty;
}

async function damageOf(bundle: string, { runs }: BundleManifest): Promise<string | null> {
  try {
    for (const { runId, files } of runs) {
      for (const file of files) await verifyFile(join(bundle, BUNDLE_RUNS, runId, file.name), file);
    }
    return null;
  } catch (error) {
    if (error instanceof BundleError) return error.message;
    throw error;
  }
}

function alienBundle(plan: RunPlan, shard: number, manifest: BundleManifest): string | null {
  if (manifest.shard !== shard || plan.shards[shard] === undefined) {
    return `says that it is shard ${manifest.shard}`;
  }
  if (manifest.sweepId !== plan.sweep.sweepId || manifest.planSha256 !== plan.sha256) {
    return 'belongs to another plan';
  }
  return null;
}

async function takeRun(
  from: string,
  { runId, files }: BundleManifest['runs'][number],
  sweepId: string,
  keys: ReadonlySet<string>,
  { artefactsFolder }: CollectContext,
): Promise<RunRecord> {
  const target = runFolderOf(artefactsFolder, sweepId, runId);
  const temporary = temporaryPath(target);
  try {
    if (!(await lstat(from).catch(() => null))?.isDirectory()) {
      throw new BundleError(`its run ${runId.slice(0, 8)} is missing`);
    }
    await mkdir(temporary).catch(async () => {
      await rm(temporary, { recursive: true, force: true });
      await mkdir(temporary);
    });
    for (const file of files) {
      const [source, copy] = [join(from, file.name), join(temporary, file.name)];
      await verifyFile(source, file);
      await link(source, copy).catch(async () => {
        await copyFile(source, copy);
        // On the way from another file system it could have become something else.
        await verifyFile(copy, file);
      });
    }
    const [read] = await readRunFolder(temporary);
    if (read === undefined || read.manifest.runId !== runId || read.manifest.sweepId !== sweepId) {
      throw new BundleError(`its run ${runId.slice(0, 8)} says that it is another one`);
    }
    const record = toRunRecord(read, {
      runId,
      sweepId,
      repeat: read.manifest.repeat ?? 1,
      artefactFolder: `${sweepId}/${runId}`,
    });
    if (record.cell !== null && !keys.has(record.cell.key)) {
      throw new BundleError(`its run ${runId.slice(0, 8)} is of a cell of another shard`);
    }
    await rename(temporary, target).catch(async () => {
      // A kill came between this and the store.
      await rm(target, { recursive: true, force: true });
      await rename(temporary, target);
    });
    return record;
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw error;
  }
}

/** Which bundle of a shard is in the store, by its hash: another one is no news, and must not look like it. */
class KnownBundles {
  private readonly path: string;
  private readonly hashes: Map<string, string>;
  private isChanged = false;

  constructor(sweepFolder: string) {
    this.path = join(sweepFolder, 'bundles.json');
    this.hashes = new Map(existsSync(this.path) ? readHashes(this.path) : []);
  }

  get shards(): ReadonlySet<number> {
    return new Set([...this.hashes.keys()].map(Number));
  }

  of(shard: number): string | null {
    return this.hashes.get(String(shard)) ?? null;
  }

  add(shard: number, sha256: string): void {
    if (this.of(shard) === sha256) return;
    this.hashes.set(String(shard), sha256);
    this.isChanged = true;
  }

  async save(): Promise<void> {
    if (!this.isChanged) return;
    await writeAtomically(
      this.path,
      `${JSON.stringify(Object.fromEntries(this.hashes), null, 1)}\n`,
    );
  }
}

function readHashes(path: string): [string, string][] {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (!isRecord(parsed)) return [];
    return Object.entries(parsed).flatMap(([shard, sha256]): [string, string][] =>
      typeof sha256 === 'string' ? [[shard, sha256]] : [],
    );
  } catch {
    return [];
  }
}
