import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { bench, sharedFolder, temporaryFolder, temporaryStore, refusal } from '../support/bench.ts';
import { queryStore, firstId } from '../support/store-dump.ts';
import { rowsOf } from '../support/stores.ts';

const SWEEPS = 'SELECT sweep_id AS id FROM sweeps ORDER BY started_at';
const SUMMARIES = `SELECT * FROM measurements JOIN time_statistics USING (run_id) ORDER BY run_id, metric`;
const SAMPLES = 'SELECT DISTINCT sweep_id AS id FROM samples JOIN runs USING (run_id)';

/** Only the first sweep builds the engine. */
const RUNS = [11, 10, 10, 10];

const measured = sharedFolder();
beforeAll(async () => {
  for (let sweep = 0; sweep < 4; sweep += 1) {
    const db = join(measured, 'bench.sqlite');
    const { code, stderr } = await bench(['run', 'matrices/quickstart-pair.yaml', '--db', db]);
    if (code !== 0) throw new Error(stderr);
  }
}, 60_000);

/** Four sweeps of one matrix, to be pruned; with the ids, the oldest first. */
function fourSweeps(): { db: string; ids: string[]; foldersOf: (sweepId: string) => number } {
  const { folder, db } = temporaryStore();
  cpSync(measured, folder, { recursive: true });
  return {
    db,
    ids: queryStore<{ id: string }>(db, SWEEPS).map(({ id }) => id),
    foldersOf: (sweepId) =>
      readdirSync(join(folder, 'artefacts', sweepId)).filter((name) => /^[0-9a-f]{32}$/.test(name)).length,
  };
}

describe('what no rule keeps', () => {
  test('loses samples and artefacts; summaries and what is told from them stay', async () => {
    const { db, ids, foldersOf } = fourSweeps();
    const [summaries, comparison] = [
      queryStore(db, SUMMARIES),
      await bench(['compare', ids[0] ?? '', ids[3] ?? '', '--json', '--db', db]),
    ];
    const dry = ['db', 'prune', '--keep-sweeps', '2', '--db', db];
    const before = rowsOf(db);
    const wouldGo = await bench([...dry, '--dry-run', '--json']);
    expect([rowsOf(db), ids.map(foldersOf)]).toEqual([before, RUNS]);
    const went = JSON.parse((await bench([...dry, '--json'])).stdout);
    expect(went.sweeps.map(({ sweepId }: { sweepId: string }) => sweepId)).toEqual(ids.slice(0, 2));
    expect(JSON.parse(wouldGo.stdout).sweeps).toEqual(went.sweeps);
    expect(
      queryStore<{ id: string }>(db, SAMPLES)
        .map(({ id }) => id)
        .toSorted(),
    ).toEqual(ids.slice(2).toSorted());
    expect([ids.map(foldersOf), queryStore(db, SUMMARIES)]).toEqual([[0, 0, 10, 10], summaries]);
    const after = await bench(['compare', ids[0] ?? '', ids[3] ?? '', '--json', '--db', db]);
    expect([after.code, after.stdout]).toEqual([comparison.code, comparison.stdout]);
    const verified = await bench(['db', 'verify', '--db', db]);
    expect([verified.code, verified.stdout]).toEqual([0, 'no damage: 4 sweeps, 41 runs\n']);
    const again = await bench(dry);
    expect([again.code, again.stdout]).toEqual([0, 'nothing to prune\n']);
  });

  test('loses only samples, and keeps its artefacts, where only samples are to go', async () => {
    const { db, ids, foldersOf } = fourSweeps();
    const summaries = queryStore(db, SUMMARIES);
    const args = ['db', 'prune', '--samples-older-than', '36h', '--keep-sweeps', '3', '--json', '--db', db];
    const now = new Date(Date.now() + 48 * 3_600_000);
    const wouldGo = JSON.parse((await bench([...args, '--dry-run'], { now })).stdout);
    const went = JSON.parse((await bench(args, { now })).stdout);
    expect(wouldGo.sweeps).toEqual(went.sweeps);
    const sweeps: { sweepId: string; artefactBytes: number }[] = went.sweeps;
    expect(sweeps.map(({ sweepId, artefactBytes }) => [sweepId, artefactBytes > 0])).toEqual([
      [ids[0], true],
      [ids[1], false],
    ]);
    const sampled = `${SAMPLES} ORDER BY sweep_id`;
    expect(queryStore<{ id: string }>(db, sampled).map(({ id }) => id)).toEqual(ids.slice(2).toSorted());
    expect([ids.map(foldersOf), queryStore(db, SUMMARIES)]).toEqual([[0, 10, 10, 10], summaries]);
    const verified = await bench(['db', 'verify', '--db', db]);
    expect([verified.code, verified.stdout]).toEqual([0, 'no damage: 4 sweeps, 41 runs\n']);
    // Runs that are there do not get them back.
    await bench(['import', join(dirname(db), 'artefacts'), '--db', db]);
    expect(queryStore<{ id: string }>(db, sampled)).toHaveLength(2);
    const layers = await bench(['db', 'prune', '--samples-older-than', '36h', '--layers', '--db', db]);
    expect(layers).toEqual(refusal('--layers needs --keep or --keep-sweeps'));
  });

  test('says so when it is asked for', async () => {
    const { db } = fourSweeps();
    await bench(['db', 'prune', '--keep-sweeps', '2', '--db', db]);
    const run = firstId(db, `SELECT run_id AS id FROM pruned_runs WHERE samples ORDER BY run_id`);
    const shown = await bench(['show', run, '--samples', '--db', db]);
    expect(shown).toEqual(refusal(/bench: run [0-9a-f]{8} has no samples: .*pruned/));
    expect((await bench(['show', run, '--db', db])).stdout).toMatch(/ pruned {3}these files, on [\d-]+\n(?! {2}kept)/);
  });

  test('is gone after the next prune if a kill ended one between artefacts and rows', async () => {
    const { db, ids, foldersOf } = fourSweeps();
    rmSync(join(dirname(db), 'artefacts', ids[0] ?? ''), { recursive: true });
    await bench(['db', 'prune', '--keep-sweeps', '2', '--db', db]);
    expect(foldersOf(ids[1] ?? '')).toBe(0);
    expect(queryStore(db, 'SELECT 1 FROM pruned_runs')).toHaveLength(21);
    expect((await bench(['db', 'verify', '--db', db])).code).toBe(0);
  });
});

describe('what stays', () => {
  test('the newest two, what is younger, and what a baseline names', async () => {
    const { db, ids, foldersOf } = fourSweeps();
    await bench(['baseline', 'set', 'v1', ids[0] ?? '', '--db', db]);
    expect([(await bench(['db', 'prune', '--keep', '1d', '--db', db])).code, ids.map(foldersOf)]).toEqual([0, RUNS]);
    const { code } = await bench(['db', 'prune', '--keep-sweeps', '1', '--db', db]);
    expect([code, ids.map(foldersOf)]).toEqual([0, [11, 0, 10, 10]]);
  });

  test('artefacts that another store of the same folder has too', async () => {
    const { db, ids, foldersOf } = fourSweeps();
    const second = join(dirname(db), 'second.sqlite');
    await bench(['db', 'merge', db, '--db', second]);
    const { code, stdout } = await bench(['db', 'prune', '--keep-sweeps', '2', '--db', db]);
    expect([code, stdout, ids.map(foldersOf)]).toEqual([0, expect.stringContaining('artefacts of 21 runs stay'), RUNS]);
    for (const path of [db, second]) expect((await bench(['db', 'verify', '--db', path])).code).toBe(0);
  });

  test('everything, when nobody says what', async () => {
    const { db, ids, foldersOf } = fourSweeps();
    const none = await bench(['db', 'prune', '--db', db]);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('state what to keep')]);
    for (const age of ['1x', '-1d', '', 'd']) {
      expect([age, await bench(['db', 'prune', '--keep', age, '--db', db])]).toEqual([age, refusal('')]);
    }
    expect(ids.map(foldersOf)).toEqual(RUNS);
    const absent = join(temporaryFolder(), 'none.sqlite');
    expect((await bench(['db', 'prune', '--keep', '1d', '--db', absent])).code).toBe(2);
    expect(existsSync(absent)).toBe(false);
  });
});
