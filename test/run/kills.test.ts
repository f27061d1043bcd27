import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { KILL_KINDS } from '../../benchmarks/kills/kill-kinds.ts';
import { killSweeps, wholeSweep } from '../../benchmarks/kills/kill-sweeps.ts';
import { halfEngines, leftoversOf } from '../../benchmarks/kills/leftovers.ts';
import { seededRandom } from '../../src/matrix/plan/order.ts';
import { bench, sharedFolder, temporaryFolder } from '../support/bench.ts';
import { noDiskBecause, smallDisk } from '../support/small-disk.ts';
import { queryStore, resultsOf, firstId } from '../support/store-dump.ts';
import { batchMatrix, type Trouble, TROUBLED, troubleEnv } from '../support/trouble.ts';

/** `node benchmarks/kills.ts` does 200 of each. */
const KILLS = 1;

describe('at random moments, then --resume: the same cells, runs, values and artefacts as without it', async () => {
  const whole = await wholeSweep(sharedFolder());

  // What the tree gets, bench gets too; signals to bench alone are those of resume.test.ts and clock-lock.test.ts.
  const kinds = KILL_KINDS.filter(({ signal, isToTree }) => isToTree || signal === 'SIGKILL');
  test.each(kinds)('$name', { timeout: 300_000 }, async (kind) => {
    const report = await killSweeps(temporaryFolder(), whole, kind, KILLS, seededRandom(2026));
    expect(report).toMatchObject({ problems: [], kills: KILLS });
  });
});

test('half an engine is found', () => {
  const folder = temporaryFolder();
  const [half, unknown] = ['a0', 'b1'].map((digits) => digits.repeat(32));
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ links: { one: { sha256: half } } }));
  writeFileSync(join(folder, `${half}.plan`), 'half');
  writeFileSync(join(folder, `${unknown}.plan`), 'no link');
  writeFileSync(join(folder, 'c2.building-17'), '');
  expect(halfEngines(folder)).toEqual([
    `engines: ${half}.plan is not what was built`,
    `engines: ${unknown}.plan is not in the index`,
    'engines: c2.building-17 is left over',
  ]);
});

/** Room for a build of the tiny model with what is asked to be left, and quickly filled. */
const ROOMY_MIB = 64;
const noDisk = noDiskBecause();
if (noDisk !== null) process.stderr.write(`tests of a full disk are skipped: no tmpfs: ${noDisk}\n`);

interface Night {
  readonly db: string;
  run(troubles?: readonly Trouble[], fill?: string): ReturnType<typeof bench>;
  resume(): ReturnType<typeof bench>;
}

/** Six runs of three cells; the store lies in `disk`, the matrix elsewhere. */
function nightOn(disk: string): Night {
  const folder = temporaryFolder();
  const matrix = batchMatrix(folder, [1, 2, 3], ['repeats: 2', 'profile: false']);
  const db = join(disk, 'bench.sqlite');
  const start = ['run', matrix, '--trtexec', TROUBLED, '--seed', '5', '--no-telemetry'];
  return {
    db,
    run: (troubles = [], fill = '') =>
      bench([...start, '--db', db], { env: troubleEnv(folder, troubles, { TROUBLE_FILL: fill }) }),
    resume: () => bench(['run', '--resume', '--db', db]),
  };
}

let whole: string | null = null;

/** A store of the same night without any trouble: one for all tests. */
async function wholeStore(): Promise<string> {
  if (whole === null) {
    const night = nightOn(sharedFolder());
    expect((await night.run()).code).toBe(0);
    whole = night.db;
  }
  return whole;
}

async function expectDone({ db, resume }: Night, stored: number): Promise<void> {
  expect(queryStore(db, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
  const runs = `SELECT run_id, outcome, started_at FROM runs WHERE role = 'timed' ORDER BY run_id`;
  const before = queryStore(db, runs);
  expect([before.length, halfEngines(join(db, '..', 'engines'))]).toEqual([stored, []]);
  const resumed = await resume();
  expect([resumed.code, resumed.stderr]).toEqual([0, expect.stringContaining('resuming sweep')]);
  expect(queryStore(db, runs)).toEqual(expect.arrayContaining(before));
  expect(resultsOf(db)).toEqual(resultsOf(await wholeStore()));
  expect(leftoversOf(db, firstId(db, 'SELECT sweep_id AS id FROM sweeps'))).toEqual([]);
}

const goOn = String.raw`Free some space, then continue with \`bench run --resume \w{8}\`\n$`;

describe.skipIf(noDisk !== null)('a full disk stops the sweep, is told and loses nothing', { timeout: 240_000 }, () => {
  test('before a build: nothing is started', async () => {
    const disk = smallDisk(24);
    const night = nightOn(disk.path);
    const { code, stderr } = await night.run();
    expect(code).toBe(3);
    expect(stderr).toMatch(
      new RegExp(String.raw`engines: 2\d MiB free, about 33 MiB needed \(an engine is built there\)\. ${goOn}`),
    );
    expect(queryStore(night.db, 'SELECT 1 FROM attempts')).toEqual([]);
    disk.resize(ROOMY_MIB);
    await expectDone(night, 0);
  });

  test('its inodes are used up: they are named, not its bytes', async () => {
    const disk = smallDisk(ROOMY_MIB, 45);
    const night = nightOn(disk.path);
    const { code, stderr } = await night.run();
    expect(code).toBe(3);
    expect(stderr).toMatch(new RegExp(String.raw`(?:the disk has no|no space or no) inodes left[:;] .* ${goOn}`));
    expect(stderr).not.toContain('disk is full');
    disk.resize(ROOMY_MIB);
    await expectDone(night, measuredIn(stderr));
  });

  test('during a run', async () => {
    const night = nightOn(smallDisk(ROOMY_MIB).path);
    const { code, stderr } = await night.run([{ when: '--shapes=input:2x3', does: 'fillsDisk', times: 1 }]);
    expect(code).toBe(3);
    expect(stderr).toMatch(new RegExp(String.raw`artefacts: the disk is full: .* ${goOn}`));
    await expectDone(night, measuredIn(stderr));
  });

  test('during the commit of a run: its results are taken from its folder', async () => {
    // Only the store lies on the small disk.
    const disk = smallDisk(ROOMY_MIB).path;
    for (const name of ['artefacts', 'engines']) {
      const target = join(temporaryFolder(), name);
      mkdirSync(target);
      symlinkSync(target, join(disk, name));
    }
    const night = nightOn(disk);
    const filler = join(disk, 'filler');
    const troubles = [{ when: '--shapes=input:2x3', does: 'fillsOtherDisk', times: 1 }];
    const { code, stderr } = await night.run(troubles, filler);
    expect(code).toBe(3);
    expect(stderr).toMatch(
      new RegExp(String.raw`bench\.sqlite: the disk is full; what was measured is stored\. ${goOn}`),
    );
    const full = await night.resume();
    const expected = [3, expect.stringMatching(/bench: \S+bench\.sqlite: the disk is full[:;] .*\n$/)];
    expect([full.code, full.stderr]).toEqual(expected);
    expect(await bench(['import', join(disk, 'artefacts'), '--db', join(disk, 'other.sqlite')])).toMatchObject({
      code: 3,
      stdout: '',
      stderr: `bench: ${join(disk, 'other.sqlite')}: the disk is full: make room first\n`,
    });
    rmSync(filler);
    await expectDone(night, measuredIn(stderr));
    expect(queryStore(night.db, 'SELECT max(attempt) AS most FROM attempts')).toEqual([{ most: 1 }]);
  });
});

const measuredIn = (stderr: string): number => stderr.match(/ms GPU/g)?.length ?? 0;
