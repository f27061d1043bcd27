import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { OUTPUTS } from '../../../src/features/schema/outputs.ts';
import { writeJournal } from '../../../src/features/slurm/journal.ts';
import { bench, finished, startBench, temporaryFolder } from '../../support/bench.ts';
import { makeBundledRun } from '../../support/slurm-bundles.ts';
import { until } from '../../support/slurm-cluster.ts';
import { dumpStore } from '../../support/store-dump.ts';

async function bundledRun(shards: number) {
  const cwd = temporaryFolder();
  const db = join(cwd, 'bench.sqlite');
  const path = join(cwd, 'run');
  await makeBundledRun(path, db, shards);
  const collect = async () => {
    // Without Slurm: bundles are enough.
    const done = await bench(['collect', path, '--json'], { cwd });
    return { ...done, json: done.stdout === '' ? null : OUTPUTS.collect.parse(JSON.parse(done.stdout)) };
  };
  const bundle = (shard: number) => join(path, 'bundles', String(shard));
  const runOf = (shard: number) => {
    const runs = join(bundle(shard), 'runs');
    return join(runs, readdirSync(runs)[0] ?? '');
  };
  return { bundle, collect, db, runOf };
}

test('bundles are taken in once, however often they are collected', async () => {
  const { collect, db } = await bundledRun(40);
  const first = await collect();
  expect([first.code, first.json?.stored, first.json?.isFinished]).toEqual([0, 80, true]);
  const before = dumpStore(db);
  const again = await collect();
  expect([again.code, again.json?.stored, again.json?.alreadyStored]).toEqual([0, 0, 80]);
  expect(dumpStore(db)).toEqual(before);
});

test('a bundle that is not what it says is refused by name, and the others are stored', async () => {
  const { bundle, collect, runOf } = await bundledRun(6);
  appendFileSync(join(runOf(1), 'stdout.log.br'), 'x');
  rmSync(join(runOf(2), 'stdout.log.br'));
  symlinkSync('/etc/passwd', join(runOf(2), 'stdout.log.br'));
  const manifest = join(bundle(3), 'manifest.json');
  const text = readFileSync(manifest, 'utf8');
  writeFileSync(manifest, text.replace('"stdout.log.br"', '"../stdout.log.br"'));
  const other = join(bundle(4), 'manifest.json');
  writeFileSync(other, readFileSync(other, 'utf8').replace(/"planSha256": "./, '"planSha256": "-'));
  const { code, json } = await collect();
  expect([code, json?.stored, json?.isFinished]).toEqual([4, 4, false]);
  expect(json?.refused).toEqual([
    { shard: 1, problem: expect.stringMatching(/stdout\.log\.br has \d+ bytes, not \d+/) },
    { shard: 2, problem: 'has a symbolic link in it' },
    { shard: 3, problem: 'its manifest.json is damaged' },
    { shard: 4, problem: 'belongs to another plan' },
  ]);
});

test.each([['--wait'], ['--json']])(
  'collect %s ends when it is told to, though Slurm takes its time to answer',
  async (option) => {
    const cwd = temporaryFolder();
    const path = join(cwd, 'run');
    const { folder } = await makeBundledRun(path, join(cwd, 'bench.sqlite'), 2);
    rmSync(folder.bundle(1), { recursive: true });
    const array = { jobId: '8', cluster: null, offset: 0, shards: [0, 1] };
    writeJournal(folder, { kind: 'submitted', at: '2026-11-21T02:00:00Z', token: 't', ...array });
    const programs = join(cwd, 'bin');
    mkdirSync(programs);
    const squeue = '#!/bin/sh\necho >asked\nexec sleep 3600\n';
    writeFileSync(join(programs, 'squeue'), squeue, { mode: 0o755 });
    const PATH = [programs, dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter);
    const collecting = startBench(['collect', path, option], { cwd, env: { PATH } });
    const ended = finished(collecting);
    await until(() => existsSync(join(cwd, 'asked')));
    collecting.kill('SIGTERM');
    expect((await ended).code).toBe(130);
  },
);
