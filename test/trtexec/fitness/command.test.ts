import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { bench, finished, startBench, temporaryFolder, temporaryStore } from '../../support/bench.ts';
import { FIXTURES } from '../../support/recordings.ts';
import {
  normals,
  simulatedCells,
  type SimulatedNights,
  simulateNights,
  sweepOfNight,
} from '../../support/simulated-store.ts';
import { queryStore } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';

const CELLS = simulatedCells(3);
const NOISE = Array.from({ length: 200 }, normals(5)).map((z) => 0.002 * z);
const quiet = (cell: number, night: number, repeat = 1): number =>
  (0.5 + 0.1 * cell) * Math.exp(NOISE[(17 * night + 5 * cell + repeat) % NOISE.length] ?? 0);

function store(simulated: Omit<SimulatedNights, 'cells'>): { db: string; folder: string } {
  const { folder, db } = temporaryStore();
  simulateNights(db, { cells: CELLS, ...simulated });
  return { db, folder };
}

type Compared = { verdict: string; runs: readonly number[]; reasons: readonly string[] };

async function compared(db: string, folder: string, nights: readonly number[]): Promise<{ cells: Compared[] }> {
  const args = ['compare', ...nights.map((night) => sweepOfNight(night)), '--json', '--db', db];
  const { stdout, stderr } = await bench(args, { cwd: folder });
  if (stderr !== '') throw new Error(stderr);
  return JSON.parse(stdout);
}

test('bench compare: runs at another clock are left out, and the others compared', async () => {
  const slow = (night: number, repeat: number): boolean => night === 1 && repeat === 2;
  const { db, folder } = store({
    nights: 2,
    repeats: 4,
    value: (cell, night, repeat) => quiet(cell, night, repeat) * (slow(night, repeat) ? 1.2 : 1),
    clock: (_, night, repeat) => (slow(night, repeat) ? 1650 : 1980),
  });
  for (const cell of (await compared(db, folder, [0, 1])).cells) {
    // With so little noise 0.3 % may be sure, and too small to be called.
    expect(['same', 'unclear']).toContain(cell.verdict);
    expect(cell.runs).toEqual([4, 3]);
    const text = "head: 1 of 4 runs left out, clock off its level: SM clock 1650 MHz, this cell's level is 1980 MHz";
    expect(cell.reasons).toContain(text);
  }
});

interface Checked {
  readonly findings: readonly { readonly state: string }[];
  readonly series: readonly {
    readonly cells: readonly { readonly reason: string | null; readonly notes: readonly string[] }[];
  }[];
}

/** What a check reports, and the cells without a result. */
function reportOf({ findings, series }: Checked) {
  return {
    alarms: findings.filter(({ state }) => state === 'new'),
    failed: series.flatMap(({ cells }) => cells.filter(({ reason }) => reason === 'failed')),
  };
}

describe('bench check', () => {
  const checked = async ({ db, folder }: { db: string; folder: string }) => {
    const { stdout, stderr } = await bench(['check', '--json', '--db', db], { cwd: folder });
    if (stderr !== '') throw new Error(stderr);
    const output: Checked = JSON.parse(stdout);
    return reportOf(output);
  };

  test('a night at another clock is left out, and says so', async () => {
    const { alarms, failed } = await checked(
      store({
        nights: 40,
        repeats: 1,
        value: (cell, night) => quiet(cell, night) * (night === 39 ? 1.2 : 1),
        clock: (_, night) => (night === 39 ? 1650 : 1980),
      }),
    );
    expect(alarms).toEqual([]);
    const notes = ["SM clock 1650 MHz, this cell's level is 1980 MHz"];
    expect(failed.map((cell) => cell.notes)).toEqual(CELLS.map(() => notes));
  });

  /** The clock wanders, falls by 15 % on night 30 for good, and the times follow it. */
  const clock = (_: number, night: number): number => (night < 30 ? 1980 : 1680) - 15 * ((night * 7) % 5);
  const slower = {
    nights: 42,
    repeats: 1,
    value: (cell: number, night: number) => (quiet(cell, night) * 1980) / clock(cell, night),
  };

  /** Nights from 30 on on which something was told, and on which cells had no run that counts. */
  async function lived({ db, folder }: { db: string; folder: string }) {
    const reported: number[] = [];
    const without: number[] = [];
    for (let night = 30; night < 42; night += 1) {
      const { stdout } = await bench(['check', '--as-of', sweepOfNight(night), '--json', '--db', db], { cwd: folder });
      const output: Checked = JSON.parse(stdout);
      const { alarms, failed } = reportOf(output);
      if (alarms.length > 0) reported.push(night);
      if (failed.length > 0) without.push(night);
    }
    return { reported, without };
  }

  test('at a clock that came to stay the cells are slower: told once it is no state that passes', async () => {
    const { reported, without } = await lived(store({ ...slower, clock }));
    expect([reported[0], without]).toEqual([33, [30, 31, 32]]);
  }, 30_000);
});

test('people see it: sweeps and runs', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  await bench(['import', join(FIXTURES, 'cpu-contended'), '--db', db]);
  const [{ sweepId, flagged }] = JSON.parse((await bench(['ls', 'sweeps', '--json', '--db', db])).stdout).sweeps;
  expect(flagged).toBe(4);
  const { stdout: sweep } = await bench(['show', sweepId, '--db', db], { env: { COLUMNS: '160' } });
  expect(sweep).toMatch(/host-bound \(4 runs; this is one of them\): GPU idle \d+ % of the time/);
  expect(sweep).toContain('→ resnet_small fp16 1x3x224x224 no-graph transfers: keep other work off the CPUs');
  const [run] = queryStore<{ id: string }>(
    db,
    `SELECT run_id AS id FROM run_flags WHERE evidence LIKE 'GPU idle 49 %'`,
  );
  const { stdout } = await bench(['show', run?.id ?? '', '--db', db], { env: { COLUMNS: '160' } });
  const text = 'measured\n  bound by the host\n  host-bound: GPU idle 49 % of the time, 49 % in 126 stalls';
  expect(stdout).toContain(text);
  const { stdout: json } = await bench(['show', run?.id ?? '', '--json', '--db', db]);
  expect(JSON.parse(json).flags).toMatchObject([{ id: 'hostBound', effect: 'widened' }]);
});

describe('bench run, when something disturbs a run', () => {
  type Stored = { repeat: number; outcome: string; reason: string | null };

  function checkout(contended: readonly number[]) {
    const { folder, db } = temporaryStore();
    return {
      args: ['run', stubMatrix(folder, ['repeats: 2']), '--trtexec', STUB, '--db', db],
      db,
      env: {
        STUB_JOURNAL: join(folder, 'journal'),
        STUB_CONTENDED: JSON.stringify({ when: 'input:8x3', runs: contended }),
      },
      runs: (): Stored[] =>
        queryStore<Stored>(
          db,
          `SELECT repeat, outcome, reason FROM runs JOIN cells USING (cell_key)
           WHERE role = 'timed' AND shapes LIKE '%8,3%' ORDER BY repeat`,
        ),
    };
  }

  test('it is measured once more, and the sweep is whole', async () => {
    const { args, db, env, runs } = checkout([1]);
    const { code, stderr, stdout } = await bench(args, { env });
    expect(code).toBe(0);
    expect(stderr).toContain('again  1 run to replace runs that the machine disturbed');
    expect(stdout).toContain('1 unfit, 1 of them measured again');
    expect(runs()).toEqual([
      { repeat: 1, outcome: 'unfit', reason: 'contended' },
      { repeat: 2, outcome: 'measured', reason: null },
      { repeat: 3, outcome: 'measured', reason: null },
    ]);
    const { stdout: shown } = await bench(['show', 'latest', '--json', '--db', db]);
    expect(JSON.parse(shown).counts).toMatchObject({ measured: 4, unfit: 1, replaced: 1 });
  });

  test('once, and no more: what stays disturbed is an answer with a gap', async () => {
    const { args, env, runs } = checkout([1, 3]);
    const { code } = await bench(args, { env });
    expect([code, runs().map(({ outcome }) => outcome)]).toEqual([4, ['unfit', 'measured', 'unfit']]);
  });

  test('killed in between and resumed, each is made once more and none twice', async () => {
    const { args, db, env, runs } = checkout([1, 2]);
    const child = startBench(args, { env: { ...env, STUB_DELAY_MS: '80' } });
    const ended = finished(child);
    while (runsIfThere(db) < 5) await sleep(30);
    child.kill('SIGKILL');
    await ended;
    expect((await bench(['run', '--resume', '--db', db], { env })).code).toBe(0);
    const made = runs().map(({ repeat, outcome }) => `${repeat} ${outcome}`);
    expect(made).toEqual(['1 unfit', '2 unfit', '3 measured', '4 measured']);
  }, 30_000);

  function runsIfThere(db: string): number {
    try {
      return queryStore(db, `SELECT 1 FROM runs WHERE role = 'timed'`).length;
    } catch {
      return 0;
    }
  }
});
