import { copyRunFolder, runFoldersIn } from '../../artefacts/copy-artefacts.ts';
import { sweepFolderOf } from '../../artefacts/layout.ts';
import { type ReadRun, readRunFolder } from '../../artefacts/read/read-run.ts';
import type { RunManifest } from '../../artefacts/run-manifest.ts';
import { comparedWith } from '../../matrix/plan/assign-gpus.ts';
import type { Environment } from '../../records/environment.ts';
import { type Plan, NO_TENSORRT } from '../../records/plan.ts';
import { runIdOf } from '../../run/measure-run.ts';
import { readAttempts, type ShardAttempt, type RunPlan } from './run-folder.ts';
import { lstatSync, mkdirSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Io } from '../../cli/io.ts';
import { LiveProgress } from '../../cli/live-progress.ts';
import { chooseProgram, noTrtexec } from '../../cli/program.ts';
import { migrationsFolder, STORE_NAME } from '../../cli/store-location.ts';
import { EngineCache } from '../../engines/engine-cache.ts';
import { EnvironmentLackingError } from '../../errors.ts';
import type { Machine } from '../../machine/machine.ts';
import { openGpuWorker, sweepServices } from '../../run/gpu-worker.ts';
import { runSweep } from '../../run/run-sweep.ts';
import type { StoredPlan } from '../../run/stored-plan.ts';
import type { SweepContext } from '../../run/sweep-context.ts';
import { openStore } from '../../store/file/open.ts';
import { printable } from '../../text/printable.ts';
import { formatTensorrtVersion } from '../../text/version.ts';
import { Dialect } from '../../trtexec/arguments/dialect.ts';
import { probeTrtexec } from '../../trtexec/program/probe-trtexec.ts';
import type { TrtexecProgram } from '../../trtexec/program/trtexec-program.ts';
import { recordedRuns } from '../../trtexec/replay/check-plan.ts';
import { readRecordingSet } from '../../trtexec/replay/recording-set.ts';
import { converterFor, variantsForStore } from '../../variants/converter.ts';
import { runsToMeasureAgain } from '../check/index.ts';
import type { SweepId } from '../../records/scalars.ts';

export interface ShardSweep {
  readonly plan: RunPlan;
  readonly stored: StoredPlan;
  readonly program: TrtexecProgram;
  readonly machine: Machine;
  /** Inside of the run's folder. */
  readonly work: string;
  readonly local: string;
}

/** Measures a shard as an ordinary sweep, into a store and artefacts of its own. */
export async function sweepShard({ plan, stored, program, machine, work, local }: ShardSweep, io: Io): Promise<void> {
  const { sweep } = plan;
  const cache = nodeCache(plan.settings.cacheFolder ?? null, local);
  const converter = await converterFor(stored.plan, stored.program.python, io);
  const progress = new LiveProgress(stored.plan, program, io);
  const { recordings } = program;
  const set = recordings === null ? null : readRecordingSet(recordings.folder);
  const recorded = set === null ? null : (key: string) => recordedRuns(set, stored.plan, key);
  const onEvent: SweepContext['onEvent'] = (event) => progress.take(event);
  // SQLite over a network file system is unsafe: the store is local, and copied when it is closed.
  const store = openStore(join(local, STORE_NAME), migrationsFolder());
  try {
    const worker = await openGpuWorker(machine, program, stored, io, (text) => onEvent({ kind: 'note', text }));
    const context: SweepContext = {
      ...sweepServices(store, { plan: stored.plan, sweep }, null, io, onEvent),
      ...worker,
      artefactsFolder: join(work, 'artefacts'),
      cache: new EngineCache(join(cache, 'engines')),
      variants: converter === null ? null : variantsForStore(join(cache, 'store'), converter, io, onEvent),
      mayChangeEngines: false,
      againRuns: () => runsToMeasureAgain(store.db, sweep.sweepId, stored.plan, recorded),
      onEvent,
    };
    await runSweep([context], stored);
  } finally {
    progress.end();
    store.close();
  }
  await copyFile(store.path, join(work, STORE_NAME));
}

/** This node's trtexec, which must match the planned version. */
export async function programOfNode(
  { plan, program: planned }: StoredPlan,
  node: string,
  io: Io,
): Promise<TrtexecProgram> {
  const { replayFolder, trtexec } = planned;
  if (plan.tensorrt === NO_TENSORRT) return noTrtexec(io);
  const options = replayFolder === null ? named(trtexec) : { replay: replayFolder };
  const { program } = chooseProgram(options, { replay: null, trtexec: null }, io);
  if (replayFolder !== null) return program;
  const { version } = await probeTrtexec(program, io.spawn, io.signal);
  const here = new Dialect(version).name;
  if (here !== plan.tensorrt) {
    throw new EnvironmentLackingError(
      `${printable(program.shownAs)} on ${node} is TensorRT ${formatTensorrtVersion(version)}, the plan is for ${plan.tensorrt}: plan with --tensorrt ${here}`,
    );
  }
  return program;
}

function named(trtexec: string | null): { readonly trtexec?: string } {
  return trtexec === null || !trtexec.includes('/') ? {} : { trtexec };
}

/**
 * A folder on the node's disk that outlives the job, for engines and variants: locks over network file systems are
 * unsafe. If another user created it in a shared folder, a private one is used.
 * @param stated `cacheFolder` of the settings
 * @param otherwise a private folder, gone with the job
 */
function nodeCache(stated: string | null, otherwise: string): string {
  if (stated !== null) {
    mkdirSync(stated, { recursive: true });
    return stated;
  }
  const uid = process.getuid?.() ?? 0;
  const folder = join(tmpdir(), `trtbench-cache-${uid}`);
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch {
    // Exists or cannot be created: the check below decides.
  }
  try {
    const facts = lstatSync(folder);
    if (facts.isDirectory() && facts.uid === uid && (facts.mode & 0o022) === 0) return folder;
  } catch {
    // As for a folder of another user.
  }
  return otherwise;
}

/**
 * Copies the finished runs of an interrupted attempt on the same GPU model: all cells of a comparison group or none, so
 * that no cell mixes times of two attempts.
 * @param part the shard's plan
 * @returns number of runs
 */
export async function takeUp(
  { folder, sweep: { sweepId } }: RunPlan,
  own: ShardAttempt,
  part: Plan,
  environment: Partial<Environment>,
  io: Io,
): Promise<number> {
  const artefactsOf = (attempt: ShardAttempt): string =>
    sweepFolderOf(join(folder.attempt(attempt), 'artefacts'), sweepId);
  const attempts = await readAttempts(folder, own.shard);
  for (const earlier of attempts.toReversed()) {
    if (earlier.planSha256 !== own.planSha256 || folder.attempt(earlier) === folder.attempt(own)) continue;
    const isSameNode = earlier.node === own.node;
    const finished = (await finishedRuns(artefactsOf(earlier))).filter(({ manifest }) =>
      isSameModel(manifest.environment, environment, isSameNode),
    );
    const kept = wholeGroups(finished, sweepId, part);
    const buildIds = new Set(kept.map(({ manifest }) => manifest.buildId));
    const builds = finished.filter(({ manifest }) => manifest.role === 'build' && buildIds.has(manifest.buildId));
    for (const { manifest, path } of [...builds, ...kept]) {
      copyRunFolder(path, join(artefactsOf(own), manifest.runId ?? ''));
    }
    if (kept.length === 0) continue;
    io.err(`${kept.length} runs are taken over from an earlier attempt on ${earlier.node}\n`);
    return kept.length;
  }
  return 0;
}

/** A machine without a stated GPU equals no other. */
function isSameModel(there: RunManifest['environment'], here: Partial<Environment>, isSameNode: boolean): boolean {
  const [gpu = null, driver = null] = [here.gpuName, here.driver];
  return (there.gpuName ?? null) === gpu && (there.driver ?? null) === driver && (gpu !== null || isSameNode);
}

/** Comparison groups in which every planned run was measured. */
function wholeGroups(finished: readonly ReadRun[], sweepId: SweepId, { cells, runs }: Plan): ReadRun[] {
  const measured = new Map(
    finished.filter(({ outcome }) => outcome.kind === 'measured').map((read) => [read.manifest.runId, read]),
  );
  const groups = Map.groupBy(cells, ({ cell }) => comparedWith(cell));
  return [...groups.values()].flatMap((group) => {
    const keys = new Set(group.map(({ cell }) => cell.key));
    const planned = runs.filter(({ cellKey }) => keys.has(cellKey));
    const kept = planned.flatMap((run) => measured.get(runIdOf(sweepId, run)) ?? []);
    return kept.length === planned.length ? kept : [];
  });
}

async function finishedRuns(sweepFolder: string): Promise<ReadRun[]> {
  const found: ReadRun[] = [];
  for (const runId of runFoldersIn(sweepFolder)) {
    // The other attempt may still work, or be removed now: then its run is skipped.
    const [read] = await readRunFolder(join(sweepFolder, runId)).catch((): ReadRun[] => []);
    if (read?.manifest.runId === runId) found.push(read);
  }
  return found;
}
