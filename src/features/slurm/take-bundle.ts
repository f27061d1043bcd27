import { copyFile, link, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { toRunRecord } from '../../artefacts/read/identify.ts';
import { runFolderOf, temporaryPath } from '../../artefacts/layout.ts';
import { readRunFiles } from '../../artefacts/read/read-run.ts';
import { RunFiles } from '../../artefacts/run-files.ts';
import type { RunRecord } from '../../records/run.ts';
import type { RunWriter } from '../../store/runs/save-run.ts';
import { BUNDLE_RUNS, BundleError, type BundleManifest, bundledShards, readBundle, verifyFile } from './bundle.ts';
import type { KnownBundles } from './known-bundles.ts';
import type { RunFolder, RunPlan } from './run-folder.ts';

export interface TakeContext {
  readonly writer: RunWriter;
  readonly artefactsFolder: string;
}

export interface RefusedBundle {
  readonly shard: number;
  readonly problem: string;
}

export type TakenBundle =
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

export type TakenOne = Extract<TakenBundle, { kind: 'taken' }>;

export async function takeBundle(
  folder: RunFolder,
  plan: RunPlan,
  shard: number,
  context: TakeContext,
  known: KnownBundles,
): Promise<TakenBundle> {
  const reading = await readBundle(folder.bundle(shard));
  if (reading.kind === 'missing') return { kind: 'missing' };
  if (reading.kind === 'faulty') return { kind: 'refused', shard, problem: reading.problem };
  const { manifest, sha256 } = reading;
  const alien = alienBundle(plan, shard, manifest);
  if (alien !== null) return { kind: 'refused', shard, problem: alien };
  const before = known.of(shard);
  if (before !== null && before !== sha256 && manifest.runs.some(({ runId }) => context.writer.hasRun(runId))) {
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
        ? (alienBundle(plan, shard, reading.manifest) ?? (await damageOf(folder.bundle(shard), reading.manifest)))
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
  { artefactsFolder }: TakeContext,
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
    const contents = new Map<string, Buffer | null>();
    for (const file of files) {
      const [source, copy] = [join(from, file.name), join(temporary, file.name)];
      contents.set(file.name, await verifyFile(source, file));
      await link(source, copy).catch(async () => {
        await copyFile(source, copy);
        // On the way from another file system it could have become something else.
        await verifyFile(copy, file);
      });
    }
    const [read] = await readRunFiles(RunFiles.read(temporary, contents));
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
