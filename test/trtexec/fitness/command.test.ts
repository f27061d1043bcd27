import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { describe, expect, test } from 'vitest';

import { bench, finished, startBench, temporaryStore } from '../../support/bench.ts';
import { importedStore, simulatedStore } from '../../support/made-stores.ts';
import { FIXTURES } from '../../support/recordings.ts';
import { normals, simulatedCells, type SimulatedNights, sweepOfNight } from '../../support/simulated-store.ts';
import { queryStore, firstId } from '../../support/store-dump.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import { OUTPUTS, benchJson, jsonOf } from '../../support/outputs.ts';

const CELLS = simulatedCells(3);
const NOISE = Array.from({ length: 200 }, normals(5)).map((z) => 0.002 * z);
const quiet = (cell: number, night: number, repeat = 1): number =>
  (0.5 + 0.1 * cell) * Math.exp(NOISE[(17 * night + 5 * cell + repeat) % NOISE.length] ?? 0);

const store = (simulated: Omit<SimulatedNights, 'cells'>): string => simulatedStore({ cells: CELLS, ...simulated });

test('bench compare: runs at another clock are left out, and the others compared', async () => {
  const slow = (night: number, repeat: number): boolean => night === 1 && repeat === 2;
  const db = store({
    nights: 2,
    repeats: 4,
    value: (cell, night, repeat) => quiet(cell, night, repeat) * (slow(night, repeat) ? 1.2 : 1),
    clock: (_, night, repeat) => (slow(night, repeat) ? 1650 : 1980),
  });
  const { json, stderr } = await benchJson(OUTPUTS.compare, ['compare', sweepOfNight(0), sweepOfNight(1), '--db', db]);
  expect(stderr).toBe('');
  for (const cell of json.cells) {
    // With so little noise 0.3 % may be sure, and too small to be called.
    expect(['same', 'unclear']).toContain(cell.verdict);
    expect(cell.runs).toEqual([4, 3]);
    const text = "head: 1 of 4 runs left out, clock off its level: SM clock 1650 MHz, this cell's level is 1980 MHz";
    expect(cell.reasons).toContain(text);
  }
});

describe('bench check', () => {
  /** What it reports, and the cells without a result. */
  async function checked(db: string, ...args: string[]) {
    const { json, stderr } = await benchJson(OUTPUTS.check, ['check', ...args, '--db', db]);
    if (stderr !== '') throw new Error(stderr);
    return {
      alarms: json.findings.filter(({ state }) => state === 'new'),
      failed: json.series.flatMap(({ cells }) => cells.filter(({ reason }) => reason === 'failed')),
    };
  }

  test('a night at another clock is left out, and says so', async () => {
    const value = (cell: number, night: number) => quiet(cell, night) * (night === 39 ? 1.2 : 1);
    const clock = (_: number, night: number) => (night === 39 ? 1650 : 1980);
    const { alarms, failed } = await checked(store({ nights: 40, repeats: 1, value, clock }));
    expect(alarms).toEqual([]);
    const notes = ["SM clock 1650 MHz, this cell's level is 1980 MHz"];
    expect(failed.map((cell) => cell.notes)).toEqual(CELLS.map(() => notes));
  });

  test('at a clock that came to stay the cells are slower: told once it is no state that passes', async () => {
    // The clock wanders, falls by 15 % on night 30 for good, and the times follow it.
    const clock = (_: number, night: number): number => (night < 30 ? 1980 : 1680) - 15 * ((night * 7) % 5);
    const value = (cell: number, night: number) => (quiet(cell, night) * 1980) / clock(cell, night);
    const db = store({ nights: 42, repeats: 1, value, clock });
    const reported: number[] = [];
    const without: number[] = [];
    for (let night = 30; night < 42; night += 1) {
      const { alarms, failed } = await checked(db, '--as-of', sweepOfNight(night));
      if (alarms.length > 0) reported.push(night);
      if (failed.length > 0) without.push(night);
    }
    expect([reported[0], without]).toEqual([33, [30, 31, 32]]);
  }, 30_000);
});

test('people see it: sweeps and runs', async () => {
  const db = await importedStore(join(FIXTURES, 'cpu-contended'));
  const [{ sweepId, flagged }] = JSON.parse((await bench(['ls', 'sweeps', '--json', '--db', db])).stdout).sweeps;
  expect(flagged).toBe(4);
  const { stdout: sweep } = await bench(['show', sweepId, '--db', db], { env: { COLUMNS: '160' } });
  expect(sweep).toMatch(/host-bound \(4 runs; this is one of them\): GPU idle \d+ % of the time/);
  expect(sweep).toContain('→ resnet_small fp16 1x3x224x224 no-graph transfers: keep other work off the CPUs');
  const idle = `SELECT run_id AS id FROM run_flags WHERE evidence LIKE 'GPU idle 49 %'`;
  const id = firstId(db, idle);
  const { stdout } = await bench(['show', id, '--db', db], { env: { COLUMNS: '160' } });
  const text = 'measured\n  bound by the host\n  host-bound: GPU idle 49 % of the time, 49 % in 126 stalls';
  expect(stdout).toContain(text);
  const { flags } = await jsonOf(OUTPUTS['show-run'], ['show', id, '--db', db]);
  expect(flags).toMatchObject([{ id: 'hostBound', effect: 'widened' }]);
});

describe('bench run, when something disturbs a run', () => {
  const RUNS = `SELECT repeat || ' ' || outcome || coalesce(' ' || reason, '') AS run FROM runs JOIN cells USING (cell_key)
    WHERE role = 'timed' AND shapes LIKE '%8,3%' ORDER BY repeat`;

  function checkout(contended: readonly number[]) {
    const { folder, db } = temporaryStore();
    const STUB_CONTENDED = JSON.stringify({ when: 'input:8x3', runs: contended });
    return {
      args: ['run', stubMatrix(folder, ['repeats: 2']), '--trtexec', STUB, '--db', db],
      db,
      env: { STUB_JOURNAL: join(folder, 'journal'), STUB_CONTENDED },
      runs: () => queryStore<{ run: string }>(db, RUNS).map(({ run }) => run),
    };
  }

  test('it is measured once more, and the sweep is whole', async () => {
    const { args, db, env, runs } = checkout([1]);
    const { code, stderr, stdout } = await bench(args, { env });
    expect(code).toBe(0);
    expect(stderr).toContain('again  1 run to replace runs that the machine disturbed');
    expect(stdout).toContain('1 unfit, 1 of them measured again');
    expect(runs()).toEqual(['1 unfit contended', '2 measured', '3 measured']);
    const { stdout: shown } = await bench(['show', 'latest', '--json', '--db', db]);
    expect(JSON.parse(shown).counts).toMatchObject({ measured: 4, unfit: 1, replaced: 1 });
  });

  test('once, and no more: what stays disturbed is an answer with a gap', async () => {
    const { args, env, runs } = checkout([1, 3]);
    const { code } = await bench(args, { env });
    expect([code, runs()]).toEqual([4, ['1 unfit contended', '2 measured', '3 unfit contended']]);
  });

  test('killed in between and resumed, each is made once more and none twice', async () => {
    const { args, db, env, runs } = checkout([1, 2]);
    const child = startBench(args, { env: { ...env, STUB_DELAY_MS: '80' } });
    const ended = finished(child);
    while (runsIfThere(db) < 5) await sleep(30);
    child.kill('SIGKILL');
    await ended;
    expect((await bench(['run', '--resume', '--db', db], { env })).code).toBe(0);
    expect(runs()).toEqual(['1 unfit contended', '2 unfit contended', '3 measured', '4 measured']);
  }, 30_000);

  function runsIfThere(db: string): number {
    try {
      return queryStore(db, `SELECT 1 FROM runs WHERE role = 'timed'`).length;
    } catch {
      return 0;
    }
  }
});
