import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { manifestText } from '../../src/artefacts/keep.ts';
import { emptyManifest, type RunManifest } from '../../src/artefacts/run-manifest.ts';
import { writeSweepManifest } from '../../src/artefacts/sweep-notes.ts';
import { hashOf } from '../../src/text/canonical-json.ts';
import { newSweep } from '../../src/records/sweep.ts';
import { runIdOf } from '../../src/run/measure-run.ts';
import { storedPlanSchema } from '../../src/run/stored-plan.ts';
import { Dialect } from '../../src/trtexec/arguments/dialect.ts';
import { makePlan } from '../../src/matrix/plan/make-plan.ts';
import { finishShard } from '../../src/features/slurm/worker.ts';
import { type ShardAttempt, type RunPlan, createRun, readRun, runFolder } from '../../src/features/slurm/run-folder.ts';
import { matrixFrom } from './matrices.ts';
import { type Shard, planOfShard, shardPlan } from '../../src/matrix/plan/shards.ts';

const RECORDINGS = join(import.meta.dirname, '..', '..', 'recordings', 'night1');
const RECORDED_BUILD = join(RECORDINGS, 'builds_vit_small.fp16');
const RECORDED_RUN = join(RECORDINGS, 'nights_1_vit_small.fp16.b8.graph1');
const SAMPLES = 'times.json';
const AT = '2026-11-21T02:00:00.000Z';

const SWEEP = newSweep({
  sweepId: 'a'.repeat(32),
  source: 'run',
  matrix: 'shards',
  provenance: 'recorded',
  startedAt: AT,
  seed: 1,
  toolVersion: '0',
  tensorrt: '10.16',
});

/**
 * The folder of a run as the tasks of a job array leave it: each shard has a build and a timed run of one cell. All of
 * them are copies of one recorded build and one recorded run, of models with names of their own.
 */
export async function makeFinishedRun(
  path: string,
  storePath: string,
  shardCount: number,
): Promise<{ readonly folder: RunPlan['folder']; readonly plan: RunPlan }> {
  const model = '{onnx: vit.onnx, shapes: {input: [batch, 3, 224, 224]}, precisions: {fp16: onnx}}';
  const matrix = matrixFrom(
    [
      'models:',
      ...Array.from({ length: shardCount }, (_, index) => `  vit_${index}: ${model}`),
      'axes: {precision: fp16, batch: 8, dataTransfers: on}',
    ].join('\n'),
  );
  const options = { seed: 1, repeats: 1, profile: false, builds: 1, forcesTimingCaches: false };
  const version = { major: 10, minor: 16, patch: 0 };
  const { plan, shards } = shardPlan(makePlan(matrix, matrix.cells, new Dialect(version), options), 1, true);
  const program = { trtexec: 'trtexec', replayFolder: null };
  const stored = storedPlanSchema.parse({ plan, program, telemetry: false, slurmRun: path });
  await createRun(runFolder(path), { sweep: SWEEP, stored, shards, settings: {}, storePath });
  const written = await readRun(path);
  for (const shard of shards) await finishOne(written, shard);
  return { folder: written.folder, plan: written };
}

/** Leaves the folder of one shard as its worker does. */
async function finishOne(plan: RunPlan, shard: Shard): Promise<void> {
  const attempt: ShardAttempt = {
    schemaVersion: 1,
    shard: shard.index,
    jobId: '1',
    restart: 0,
    task: `1_${shard.index}`,
    node: 'gpu1',
    startedAt: AT,
    endedAt: AT,
    outcome: 'working',
    signal: null,
    exitCode: 0,
    problem: null,
  };
  const { folder, sweep } = plan;
  const artefacts = join(folder.attempt(attempt), 'artefacts', sweep.sweepId);
  const part = planOfShard(plan.stored.plan, shard);
  const { builds, cells, runs } = part;
  const sweepPlan = { ...plan.stored, plan: part };
  await writeSweepManifest(dirname(artefacts), { sweep: plan.sweep, plan: sweepPlan, importedAt: null });
  for (const { buildRef } of builds) {
    writeRun(join(artefacts, hashOf({ buildRef })), RECORDED_BUILD, { role: 'build' });
  }
  for (const planned of runs) {
    const cell = cells.find((each) => each.cell.key === planned.cellKey)?.cell ?? null;
    const run = join(artefacts, runIdOf(sweep.sweepId, planned));
    writeRun(run, RECORDED_RUN, { role: 'timed', repeat: 1, cell, omitted: [SAMPLES] });
    rmSync(join(run, `${SAMPLES}.br`));
  }
  await finishShard(folder, attempt);
}

function writeRun(target: string, recorded: string, about: Partial<RunManifest>): void {
  mkdirSync(target, { recursive: true });
  cpSync(recorded, target, { recursive: true });
  const manifest: RunManifest = {
    ...emptyManifest(),
    sweepId: SWEEP.sweepId,
    runId: target.split('/').at(-1) ?? null,
    provenance: 'recorded',
    exitCode: 0,
    startedAt: AT,
    ...about,
  };
  writeFileSync(join(target, 'run.json'), manifestText(manifest));
}
