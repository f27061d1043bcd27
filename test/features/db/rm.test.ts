import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import { lockSweep } from '../../../src/run/planned-sweep.ts';
import { bench, temporaryFolder, refusal } from '../../support/bench.ts';
import { storeIn } from '../../support/made-stores.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { queryStore } from '../../support/store-dump.ts';
import { rowsOf } from '../../support/stores.ts';

/** Two sweeps; the second one is slower, and was judged. */
async function judgedPairs(): Promise<{ db: string; folder: string; ids: string[]; ack: () => Promise<unknown> }> {
  const folder = temporaryFolder();
  const db = await storeIn(folder, 'pairs');
  expect((await bench(['check', '--db', db], { cwd: folder })).code).toBe(1);
  const ids = queryStore<{ id: string }>(db, 'SELECT sweep_id AS id FROM sweeps ORDER BY started_at').map(
    ({ id }) => id,
  );
  const [found] = queryStore<{ id: string }>(db, 'SELECT finding_id AS id FROM findings');
  const ack = ['ack', found?.id ?? '', '--reason', 'tuned for batch 32', '--owner', 'team-vision', '--db', db];
  return { db, folder, ids, ack: () => bench(ack, { cwd: folder }) };
}

test('a sweep goes with its finding; its artefacts bring both back', async () => {
  const { ack, db, folder, ids } = await judgedPairs();
  const [first = '', second = ''] = ids;
  await ack();
  const before = rowsOf(db);
  const dry = await bench(['db', 'rm', second.slice(0, 8), '--dry-run', '--db', db], { cwd: folder });
  expect([dry.code, rowsOf(db), existsSync(join(folder, 'removed'))]).toEqual([0, before, false]);
  expect(dry.stdout).toMatch(/11 runs: would be deleted\nfinding .*: would be deleted.*\nnothing was changed\n$/);
  const went = await bench(['db', 'rm', second.slice(0, 8), '--db', db], { cwd: folder });
  expect([went.code, went.stderr]).toEqual([0, '']);
  const moved = join(folder, 'removed', second);
  expect(went.stdout.split('\n')).toEqual([
    expect.stringMatching(/^sweep [0-9a-f]{8}, quickstart-pair, .*, 11 runs: deleted$/),
    expect.stringMatching(/^finding [0-9a-f]{8}: deleted, with its acknowledgement$/),
    `to restore it: \`bench import ${moved}\``,
    '',
  ]);
  expect(queryStore(db, 'SELECT sweep_id AS id FROM sweeps')).toEqual([{ id: first }]);
  expect(readdirSync(join(folder, 'artefacts')).filter((name) => name !== '.gitignore')).toEqual([first]);
  expect([existsSync(join(moved, 'sweep.json')), existsSync(join(moved, '.lock'))]).toEqual([true, false]);
  const verified = await bench(['db', 'verify', '--db', db], { cwd: folder });
  expect([verified.code, verified.stdout]).toEqual([0, 'no damage: 1 sweep, 11 runs\n']);
  await bench(['import', join(folder, 'artefacts'), '--db', db], { cwd: folder });
  const parent = await bench(['import', folder, '--db', db], { cwd: folder });
  expect([parent.code, queryStore(db, 'SELECT sweep_id AS id FROM sweeps')]).toEqual([2, [{ id: first }]]);
  expect([(await bench(['import', moved, '--db', db], { cwd: folder })).code, rowsOf(db)]).toEqual([0, before]);
  // A second time it keeps what was removed before.
  await bench(['db', 'rm', 'latest', '--db', db], { cwd: folder });
  expect(readdirSync(join(folder, 'removed')).toSorted()).toEqual(['.gitignore', second, `${second}.2`]);
});

test('after a kill between artefacts and rows, doing it again ends it', async () => {
  const { db, folder, ids } = await judgedPairs();
  const [first = '', second = ''] = ids;
  await bench(['db', 'rm', second, '--db', db], { cwd: folder });
  await bench(['import', join(folder, 'removed', second), '--db', db], { cwd: folder });
  renameSync(join(folder, 'artefacts', second), join(folder, 'elsewhere'));
  const again = await bench(['db', 'rm', second, '--db', db], { cwd: folder });
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining(join(folder, 'removed', second))]);
  expect(queryStore(db, 'SELECT sweep_id AS id FROM sweeps')).toEqual([{ id: first }]);
});

test('later sweeps are judged again, in the store and next to their artefacts', async () => {
  const { db, folder, ids } = await judgedPairs();
  const [first = '', second = ''] = ids;
  const file = join(folder, 'artefacts', second, 'findings.json');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ judged: { sweepId: second }, findings: [{}] });
  const went = await bench(['db', 'rm', first, '--json', '--db', db], { cwd: folder });
  const findings = [expect.stringMatching(/^[0-9a-f]{32}$/)];
  expect(OUTPUTS['db-rm'].parse(JSON.parse(went.stdout))).toMatchObject({ judgedAgain: 1, findings });
  const { judged, ...told } = JSON.parse(readFileSync(file, 'utf8'));
  expect([judged.judgedBy, told.findings, told.acknowledgements]).toEqual(['first', [], []]);
});

test('artefacts that another store of the folder names stay', async () => {
  const { db, folder, ids } = await judgedPairs();
  const [, second = ''] = ids;
  copyFileSync(db, join(folder, 'other.sqlite'));
  const went = await bench(['db', 'rm', second, '--json', '--db', db], { cwd: folder });
  expect(OUTPUTS['db-rm'].parse(JSON.parse(went.stdout)).sweeps).toMatchObject([{ movedTo: null, sharedRuns: 11 }]);
  expect(existsSync(join(folder, 'artefacts', second, 'sweep.json'))).toBe(true);
  const verified = await bench(['db', 'verify', '--db', join(folder, 'other.sqlite')], { cwd: folder });
  expect(verified.stdout).toBe('no damage: 2 sweeps, 22 runs\n');
});

test('what is measured, a baseline, or unknown is refused before anything goes', async () => {
  const { db, folder, ids } = await judgedPairs();
  const [first = '', second = ''] = ids;
  const before = rowsOf(db);
  const rm = (...names: string[]) => bench(['db', 'rm', ...names, '--db', db], { cwd: folder });
  const text = 'bench: nightly does not name one sweep: write the start of an id of `bench ls sweeps`\n';
  expect(await rm(second, 'nightly')).toEqual(refusal(text));
  const release = lockSweep(join(dirname(db), 'artefacts'), first);
  const measured = await rm(second, first);
  release();
  expect(measured).toEqual(refusal(/bench: sweep [0-9a-f]{8} is being measured by .*: wait for it, or stop it\n/));
  expect(rowsOf(db)).toEqual(before);
  await bench(['baseline', 'set', 'v1', first, '--db', db], { cwd: folder });
  const baseline = `bench: sweep ${first.slice(0, 8)} is the baseline v1: \`bench baseline rm v1\` first, or set it to another sweep\n`;
  expect(await rm(second, first)).toEqual(refusal(baseline));
  expect(queryStore(db, 'SELECT count(*) AS sweeps FROM sweeps')).toEqual([{ sweeps: 2 }]);
});
