import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { valueRule } from '../../src/judge/value-rule.ts';
import { bench, refusal } from '../support/bench.ts';
import { importedStore, simulatedStore } from '../support/made-stores.ts';
import { NO_VALUES } from '../support/no-values.ts';
import { jsonOf, OUTPUTS } from '../support/outputs.ts';
import { FIXTURES } from '../support/recordings.ts';
import { normals, simulatedCells } from '../support/simulated-store.ts';
import { change, firstId } from '../support/store-dump.ts';

const CELLS = simulatedCells(1);
const BETWEEN_SWEEPS = 40;
/** From this night on nobody kept samples. */
const SWITCHED = 30;
const NOISE = Array.from({ length: BETWEEN_SWEEPS }, normals(7)).map((z) => 0.001 * z);
const PAIRS = 'level0/pairs/vit_small.fp16.b8.graph1';

const LOWER_CENTRES = 'UPDATE measurements SET gpu_compute_centre_ms = 0.98 * gpu_compute_centre_ms';

/** As if nobody had kept samples of these runs. */
const forgetCentres = (db: string, runs: string): void => {
  const runIds = `SELECT run_id FROM runs WHERE ${runs}`;
  change(db, `UPDATE measurements SET gpu_compute_centre_ms = NULL WHERE run_id IN (${runIds})`);
};

/** A history of one level; its centres lie 2 % below the medians, as in a skewed cell, until they are kept no more. */
function switchedStore(): string {
  const value = (_: number, night: number) => 0.5 * Math.exp(NOISE[night] ?? 0);
  const db = simulatedStore({ cells: CELLS, nights: BETWEEN_SWEEPS, repeats: 1, value });
  change(db, LOWER_CENTRES);
  forgetCentres(
    db,
    `sweep_id IN (SELECT sweep_id FROM sweeps ORDER BY started_at DESC LIMIT ${BETWEEN_SWEEPS - SWITCHED})`,
  );
  return db;
}

describe('centres of samples and printed medians in one cell', () => {
  test('check: a night from which on no samples are kept is no step of 2 %', async () => {
    const db = switchedStore();
    for (const night of ['latest', `latest~${BETWEEN_SWEEPS - SWITCHED - 4}`]) {
      const { code, stdout } = await bench(['check', '--as-of', night, '--json', '--db', db]);
      expect([night, code, JSON.parse(stdout).findings]).toEqual([night, 0, []]);
    }
  });

  test('compare: one run without samples, 26 nights ago, leaves the other nights their say', async () => {
    const normal = normals(8);
    const value = () => 0.5 * Math.exp(0.001 * normal());
    const db = simulatedStore({ cells: simulatedCells(6), nights: 30, repeats: 3, value });
    change(db, LOWER_CENTRES);
    const sweepOf = (night: number) =>
      `sweep_id = (SELECT sweep_id FROM sweeps ORDER BY started_at LIMIT 1 OFFSET ${night})`;
    forgetCentres(db, `repeat = 1 AND ${sweepOf(3)}`);
    const expectNights = async () => {
      const { cells } = await jsonOf(OUTPUTS.compare, ['compare', 'latest~1', 'latest', '--db', db]);
      for (const { noise } of cells) expect(noise?.nights).toBeGreaterThan(20);
    };
    await expectNights();
    forgetCentres(db, sweepOf(20));
    await expectNights();
    // An invalid run without samples says nothing of the values of valid ones.
    forgetCentres(db, sweepOf(29));
    change(db, `UPDATE runs SET outcome = 'unfit', reason = 'exportMissing' WHERE ${sweepOf(29)}`);
    const { cells } = await jsonOf(OUTPUTS.compare, ['compare', 'latest~1', 'latest', '--db', db]);
    expect(cells[0]?.base).toBeCloseTo(0.49, 2);
  });

  test('the rule for one cell', () => {
    const sampled = { values: { ...NO_VALUES, gpuComputeMs: 2 }, centres: { gpuComputeMs: 1.9 } };
    const bare = { values: { ...NO_VALUES, gpuComputeMs: 2.1 }, centres: {} };
    const failed = { values: NO_VALUES, centres: {} };
    const of = (runs: Parameters<typeof valueRule>[0]) => runs.map(valueRule(runs, 'gpuComputeMs'));
    expect(of([sampled, sampled, failed])).toEqual([1.9, 1.9, null]);
    expect(of([sampled, bare, failed])).toEqual([2, 2.1, null]);
    const damaged = { values: { ...NO_VALUES, gpuComputeMs: 2.2 }, centres: { gpuComputeMs: 0 } };
    expect(of([sampled, damaged])).toEqual([2, 2.2]);
    expect(of([sampled, { values: NO_VALUES, centres: { gpuComputeMs: 1.8 } }])).toEqual([1.9, 1.8]);
    expect([sampled, bare].map(valueRule([sampled, bare], 'throughputQps'))).toEqual([null, null]);
  });
});

describe('what the store says and bench does not know', () => {
  const recordedStore = () => importedStore(join(FIXTURES, PAIRS, '01-normal'));

  test('a reason is unknown, and not one that is known', async () => {
    const db = await recordedStore();
    change(db, `UPDATE runs SET outcome = 'unfit', reason = 'tooWarm'`);
    const id = firstId(db, 'SELECT run_id AS id FROM runs');
    const { stdout } = await bench(['show', id, '--json', '--db', db]);
    expect(stdout).not.toContain('suspectErrors');
    expect(JSON.parse(stdout)).toMatchObject({ outcome: { kind: 'failed', reason: 'unknown' } });
  });

  test('shapes that are none are damage, and not fewer dimensions', async () => {
    const db = await recordedStore();
    change(db, `UPDATE cells SET shapes = '{"input":[8,"3",224,224]}'`);
    const text =
      'the store is damaged: {"input":[8,"3",224,224]} are no shapes of a cell; `bench db verify` shows the details';
    expect(await bench(['trend', '--db', db])).toEqual(refusal(`bench: ${text}\n`));
  });
});
