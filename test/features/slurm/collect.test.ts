import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { recordJob } from '../../../src/features/slurm/run-folder.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { bench, finished, startBench, temporaryFolder, temporaryStore } from '../../support/bench.ts';
import { makeFinishedRun } from '../../support/slurm-shards.ts';
import { until } from '../../support/slurm-cluster.ts';
import { dumpStore } from '../../support/store-dump.ts';

async function finishedRun(shards: number) {
  const { folder: cwd, db } = temporaryStore();
  const path = join(cwd, 'run');
  const { folder, plan } = await makeFinishedRun(path, db, shards);
  const collect = async () => {
    // Without Slurm: the folders of shards are enough.
    const done = await bench(['slurm', 'collect', path, '--json'], { cwd });
    return { ...done, json: done.stdout === '' ? null : OUTPUTS.collect.parse(JSON.parse(done.stdout)) };
  };
  const runsOf = (shard: number): string[] => {
    const runs = join(folder.shard(shard), 'artefacts', plan.sweep.sweepId);
    return readdirSync(runs)
      .toSorted()
      .map((name) => join(runs, name));
  };
  return { collect, cwd, db, folder, runOf: (shard: number): string => runsOf(shard)[0] ?? '', runsOf };
}

test('shards are taken in once, however often they are collected', async () => {
  const { collect, db } = await finishedRun(8);
  const first = await collect();
  expect([first.code, first.json?.stored, first.json?.isFinished]).toEqual([0, 16, true]);
  const before = dumpStore(db);
  const again = await collect();
  expect([again.code, again.json?.stored, again.json?.alreadyStored, dumpStore(db)]).toEqual([0, 0, 16, before]);
});

test('a run that does not state this sweep is left out by name, and the others are stored', async () => {
  const { collect, cwd, folder, runOf, runsOf } = await finishedRun(6);
  const manifestOf = (shard: number): string => join(runOf(shard), 'run.json');
  writeFileSync(manifestOf(1), readFileSync(manifestOf(1), 'utf8').replaceAll('a'.repeat(32), 'b'.repeat(32)));
  rmSync(manifestOf(2));
  execFileSync('mkfifo', [manifestOf(2)]);
  rmSync(manifestOf(3));
  symlinkSync('/etc/passwd', manifestOf(3));
  // Its timed run is gone: the cell lacks a run.
  rmSync(runsOf(4).find((run) => readFileSync(join(run, 'run.json'), 'utf8').includes('timed')) ?? '', {
    recursive: true,
  });
  writeFileSync(join(dirname(runOf(5)), 'sweep.json'), '{');
  const { code, json } = await collect();
  expect([code, json?.stored, json?.isFinished]).toEqual([4, 6, false]);
  const ofRun = expect.stringMatching(/^run \w{8}: its run.json is missing or damaged$/);
  expect(json?.refused).toEqual([
    ...[1, 2, 3].map((shard) => ({ shard, problem: ofRun })),
    { shard: 5, problem: 'its sweep.json is missing or damaged' },
  ]);
  // They are measured again.
  expect(json?.shards.map(({ state }) => state)).toEqual(['done', 'failed', 'failed', 'failed', 'done', 'failed']);
  expect([1, 2, 3, 5].map((shard) => existsSync(folder.shard(shard)))).toEqual([false, false, false, false]);
  expect(json?.incompleteCells).toBeGreaterThan(0);
  const kept = readdirSync(join(cwd, 'artefacts', json?.sweepId ?? '')).filter((name) => /^\w{32}$/.test(name));
  expect(kept).toHaveLength(6);
});

test('a finished shard is a folder with artefacts that bench reads by itself', async () => {
  const { cwd, folder } = await finishedRun(1);
  const db = join(cwd, 'alone', 'bench.sqlite');
  mkdirSync(dirname(db));
  const imported = await bench(['import', join(folder.shard(0), 'artefacts'), '--db', db, '--json'], { cwd });
  expect([imported.code, JSON.parse(imported.stdout).sweeps[0].stored]).toEqual([0, 2]);
});

test.each(['--wait'])('collect %s ends when it is told to, though Slurm takes its time to answer', async (option) => {
  const cwd = temporaryFolder();
  const path = join(cwd, 'run');
  const { folder } = await makeFinishedRun(path, join(cwd, 'bench.sqlite'), 2);
  rmSync(folder.shard(1), { recursive: true });
  const array = { jobId: '8', cluster: null, offset: 0, shards: [0, 1] };
  recordJob(folder, { kind: 'submitted', at: '2026-11-21T02:00:00Z', ...array });
  const programs = join(cwd, 'bin');
  mkdirSync(programs);
  writeFileSync(join(programs, 'squeue'), '#!/bin/sh\necho >asked\nexec sleep 3600\n', { mode: 0o755 });
  const PATH = [programs, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
  const collecting = startBench(['slurm', 'collect', path, option], { cwd, env: { PATH } });
  const ended = finished(collecting);
  await until(() => existsSync(join(cwd, 'asked')));
  collecting.kill('SIGTERM');
  expect((await ended).code).toBe(130);
});
