import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { recordJob } from '../../../src/features/slurm/jobs.ts';
import { bench, finished, startBench, temporaryFolder } from '../../support/bench.ts';
import { makeFinishedRun } from '../../support/slurm-shards.ts';
import { until } from '../../support/slurm-cluster.ts';
import { dumpStore } from '../../support/store-dump.ts';

async function finishedRun(shards: number) {
  const cwd = temporaryFolder();
  const db = join(cwd, 'bench.sqlite');
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
  const runOf = (shard: number): string => runsOf(shard)[0] ?? '';
  return { collect, cwd, db, folder, runOf, runsOf };
}

test('shards are taken in once, however often they are collected', async () => {
  const { collect, db } = await finishedRun(40);
  const first = await collect();
  expect([first.code, first.json?.stored, first.json?.isFinished]).toEqual([0, 80, true]);
  const before = dumpStore(db);
  const again = await collect();
  expect([again.code, again.json?.stored, again.json?.alreadyStored]).toEqual([0, 0, 80]);
  expect(dumpStore(db)).toEqual(before);
});

test('a shard that is not what its task left is refused by name, and the others are stored', async () => {
  const { collect, cwd, folder, runOf, runsOf } = await finishedRun(13);
  appendFileSync(join(runOf(1), 'notes.txt'), 'x');
  rmSync(join(runOf(2), 'stdout.log.br'));
  symlinkSync('/etc/passwd', join(runOf(2), 'stdout.log.br'));
  const change = (shard: number, from: string | RegExp, to: string): void => {
    const file = join(folder.shard(shard), 'attempt.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
  };
  change(3, /"[0-9a-f]{32}": /, '"../../../../etc": ');
  change(4, /"planSha256": "./, '"planSha256": "-');
  const manifest = join(runOf(5), 'run.json');
  writeFileSync(
    manifest,
    readFileSync(manifest, 'utf8').replace('"provenance": "recorded"', '"provenance": "measured"'),
  );
  rmSync(runsOf(6)[1] ?? '', { recursive: true });
  change(7, '"outcome": "done"', '"outcome": "working"');
  for (const shard of [8, 9]) rmSync(folder.shard(shard), { recursive: true });
  renameSync(folder.shard(10), folder.shard(8));
  renameSync(folder.shard(11), folder.shard(9));
  change(8, '"shard": 10', '"shard": 8');
  rmSync(join(runOf(12), 'run.json'));
  execFileSync('mkfifo', [join(runOf(12), 'run.json')]);
  const { code, json } = await collect();
  expect([code, json?.stored, json?.isFinished]).toEqual([4, 2, false]);
  expect(json?.refused).toEqual([
    { shard: 1, problem: expect.stringMatching(/its run \w{8} is damaged/) },
    { shard: 2, problem: expect.stringMatching(/its run \w{8} is damaged/) },
    { shard: 3, problem: 'its attempt.json is missing or damaged' },
    { shard: 4, problem: 'belongs to another plan' },
    { shard: 5, problem: expect.stringMatching(/its run \w{8} is damaged/) },
    { shard: 6, problem: expect.stringMatching(/its run \w{8} is missing/) },
    { shard: 7, problem: 'is working, not done' },
    { shard: 8, problem: expect.stringMatching(/its run \w{8} is of a cell of another shard/) },
    { shard: 9, problem: 'says that it is shard 11' },
    { shard: 12, problem: expect.stringMatching(/its run \w{8} is damaged/) },
  ]);
  // Nothing of a refused shard is left in the artefacts of the store.
  const kept = readdirSync(join(cwd, 'artefacts', json?.sweepId ?? '')).filter((name) => /^\w{32}$/.test(name));
  expect(kept).toHaveLength(2);
});

test('another attempt at a shard that is stored changes nothing, and is named', async () => {
  const { collect, db, folder, runsOf } = await finishedRun(2);
  await collect();
  const before = dumpStore(db);
  // Measured again, a minute later.
  for (const file of [...runsOf(1).map((run) => join(run, 'run.json')), join(folder.shard(1), 'attempt.json')]) {
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('T02:00:00', 'T02:01:00'));
  }
  const again = await collect();
  expect([again.code, again.json?.stored, again.json?.alreadyStored]).toEqual([0, 0, 4]);
  expect(again.stderr).toContain('shard 1: another attempt was collected before');
  expect(dumpStore(db)).toEqual(before);
});

test('the folder of a shard may be deleted when its runs are stored', async () => {
  const { collect, folder } = await finishedRun(2);
  await collect();
  rmSync(folder.shard(1), { recursive: true });
  const { code, json } = await collect();
  expect([code, json?.counts.done]).toEqual([0, 2]);
});

test('a finished shard is a folder with artefacts that bench reads by itself', async () => {
  const { cwd, folder } = await finishedRun(1);
  const db = join(cwd, 'alone', 'bench.sqlite');
  mkdirSync(dirname(db));
  const imported = await bench(['import', join(folder.shard(0), 'artefacts'), '--db', db, '--json'], { cwd });
  expect([imported.code, JSON.parse(imported.stdout).sweeps[0].stored]).toEqual([0, 2]);
});

test.each([['--wait'], ['--json']])(
  'collect %s ends when it is told to, though Slurm takes its time to answer',
  async (option) => {
    const cwd = temporaryFolder();
    const path = join(cwd, 'run');
    const { folder } = await makeFinishedRun(path, join(cwd, 'bench.sqlite'), 2);
    rmSync(folder.shard(1), { recursive: true });
    const array = { jobId: '8', cluster: null, offset: 0, shards: [0, 1] };
    recordJob(folder, { kind: 'submitted', at: '2026-11-21T02:00:00Z', ...array });
    const programs = join(cwd, 'bin');
    mkdirSync(programs);
    const squeue = '#!/bin/sh\necho >asked\nexec sleep 3600\n';
    writeFileSync(join(programs, 'squeue'), squeue, { mode: 0o755 });
    const PATH = [programs, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
    const collecting = startBench(['slurm', 'collect', path, option], { cwd, env: { PATH } });
    const ended = finished(collecting);
    await until(() => existsSync(join(cwd, 'asked')));
    collecting.kill('SIGTERM');
    expect((await ended).code).toBe(130);
  },
);
