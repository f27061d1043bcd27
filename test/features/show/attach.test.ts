import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { benchJson, jsonOf, OUTPUTS } from '../../support/outputs.ts';
import { bench, ROOT, sharedFolder, temporaryFolder, refusal } from '../../support/bench.ts';
import { queryStore } from '../../support/store-dump.ts';

const PAIR = join(ROOT, 'matrices', 'quickstart-pair.yaml');

type Run = { readonly id: string; readonly sweep: string };

function runIn(folder: string): Run {
  const [run] = queryStore<Run>(
    join(folder, 'bench.sqlite'),
    `SELECT run_id AS id, sweep_id AS sweep FROM runs WHERE role = 'timed' ORDER BY run_id`,
  );
  if (run === undefined) throw new Error('no run');
  return run;
}

const placeOf = (folder: string, { id, sweep }: Run, name: string): string =>
  join(folder, 'artefacts', sweep, `${id}.attached`, name);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

async function measured(folder: string): Promise<Run> {
  const { code, stderr } = await bench(['run', PAIR], { cwd: folder });
  if (code !== 0) throw new Error(stderr);
  writeFileSync(join(folder, 'a.nsys-rep'), 'a report');
  return runIn(folder);
}

describe('bench show RUN --attach FILE', () => {
  const folder = sharedFolder();
  let run: Run;
  const start = (...args: readonly string[]) => bench(args, { cwd: folder });

  beforeAll(async () => {
    run = await measured(folder);
    writeFileSync(join(folder, 'notes.log'), '&&&& RUNNING TensorRT.trtexec\n');
  });

  test('keeps files by their hash, and bench show lists them', async () => {
    const args = ['show', run.id.slice(0, 10), '--attach', 'a.nsys-rep', 'notes.log'];
    const { code, json } = await benchJson(OUTPUTS.attach, args, { cwd: folder });
    expect(code).toBe(0);
    expect(json.attached).toEqual([
      { name: 'a.nsys-rep', kind: 'nsysReport', sha256: sha256('a report'), bytes: 8, attachedAt: expect.any(String) },
      expect.objectContaining({ name: 'notes.log', kind: 'text' }),
    ]);
    expect(readFileSync(placeOf(folder, run, 'a.nsys-rep'), 'utf8')).toBe('a report');
    const shown = await jsonOf(OUTPUTS['show-run'], ['show', run.id], { cwd: folder });
    const attachments = ['a.nsys-rep', 'notes.log'].map((name) => ({ name, prunedAt: null }));
    expect(shown).toMatchObject({ attachments });
    const text = (await start('show', run.id)).stdout;
    expect(text).toMatch(/attached a\.nsys-rep \(8 B, \d{4}-\d\d-\d\d, sha256 [0-9a-f]{12}\)/);
    expect(text).toContain(`in artefacts/${run.sweep}/${run.id}.attached`);
  });

  test('the same file again changes nothing; another one of its name is refused', async () => {
    const before = queryStore(join(folder, 'bench.sqlite'), 'SELECT * FROM attachments');
    expect((await start('show', run.id, '--attach', 'a.nsys-rep')).code).toBe(0);
    expect(queryStore(join(folder, 'bench.sqlite'), 'SELECT * FROM attachments')).toEqual(before);
    const other = join(temporaryFolder(), 'a.nsys-rep');
    writeFileSync(other, 'another');
    const text = `bench: run ${run.id.slice(0, 8)} has another file of the name a.nsys-rep: give this one a name with --name\n`;
    expect(await start('show', run.id, '--attach', other)).toEqual(refusal(text));
    expect((await start('show', run.id, '--attach', other, '--name', 'b.nsys-rep')).code).toBe(0);
    expect(readFileSync(placeOf(folder, run, 'a.nsys-rep'), 'utf8')).toBe('a report');
  });

  test.each([
    [['ffffffffffff', '--attach', 'a.nsys-rep'], 'no cell ffffffffffff'],
    [['RUN', '--attach', 'a.nsys-rep', '--name', '../x'], '../x cannot be kept under its name (--name): write'],
    [['RUN', '--attach', 'artefacts'], '/artefacts: not found, or not a readable file'],
    [['RUN', '--attach', 'a.nsys-rep', 'notes.log', '--name', 'x'], '--name is the name of one file'],
  ])('bench show --attach: %j', async (args, text) => {
    expect(await start('show', ...args.map((arg) => arg.replace('RUN', run.id)))).toEqual(refusal(text));
  });
});

test('bench db verify finds what is missing, and what has another content', async () => {
  const folder = temporaryFolder();
  const run = await measured(folder);
  writeFileSync(join(folder, 'b.txt'), 'text');
  await bench(['show', run.id, '--attach', 'a.nsys-rep', 'b.txt'], { cwd: folder });
  rmSync(placeOf(folder, run, 'a.nsys-rep'));
  writeFileSync(placeOf(folder, run, 'b.txt'), 'TEXT');
  const found = [
    { kind: 'artefactMissing', where: placeOf(folder, run, 'a.nsys-rep') },
    { kind: 'artefactDamaged', where: placeOf(folder, run, 'b.txt') },
  ];
  const verify = (...args: string[]) => benchJson(OUTPUTS['db-verify'], ['db', 'verify', ...args], { cwd: folder });
  expect(await verify()).toMatchObject({ code: 4, json: { found } });
  expect((await verify('--quick')).json.found).toHaveLength(1);
});

test('bench db prune drops attachments by their age, and only when that is asked for', async () => {
  const folder = temporaryFolder();
  const run = await measured(folder);
  writeFileSync(join(folder, 'b.txt'), 'text');
  await bench(['show', run.id, '--attach', 'a.nsys-rep'], { cwd: folder });
  const old = new Date('2025-01-01T00:00:00.000Z');
  utimesSync(placeOf(folder, run, 'a.nsys-rep'), old, old);
  // A store that is rebuilt has them by the time of the file.
  rmSync(join(folder, 'bench.sqlite'));
  await bench(['import', 'artefacts'], { cwd: folder });
  await bench(['show', run.id, '--attach', 'b.txt'], { cwd: folder });
  const prune = (...args: readonly string[]) => bench(['db', 'prune', ...args], { cwd: folder });
  await prune('--keep', '1h', '--keep-sweeps', '1');
  expect(existsSync(placeOf(folder, run, 'a.nsys-rep'))).toBe(true);
  const shown = await prune('--attachments-older-than', '90d', '--dry-run');
  expect(shown.stdout).toContain('would delete from 0 sweeps and 1 attachment: ');
  expect(existsSync(placeOf(folder, run, 'a.nsys-rep'))).toBe(true);
  const pruned = ['db', 'prune', '--attachments-older-than', '90d'];
  const json = { attachments: [{ runId: run.id, name: 'a.nsys-rep', bytes: 8 }] };
  expect(await benchJson(OUTPUTS['db-prune'], pruned, { cwd: folder })).toMatchObject({ code: 0, json });
  expect(existsSync(placeOf(folder, run, 'a.nsys-rep'))).toBe(false);
  expect(existsSync(placeOf(folder, run, 'b.txt'))).toBe(true);
  expect((await bench(['show', run.id], { cwd: folder })).stdout).toMatch(/attached a\.nsys-rep .*pruned \d{4}-/);
  expect((await bench(['db', 'verify'], { cwd: folder })).code).toBe(0);
});
