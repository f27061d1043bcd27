import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { change } from '../../support/store-dump.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { queryStore } from '../../support/store-dump.ts';

const CELLS = simulatedCells(3);
const NIGHTS = 26;

interface Case {
  readonly value: (cell: number, night: number) => number | null;
  readonly nights?: number;
}

const steady = (cell: number, night: number): number => (0.5 + 0.1 * cell) * (1 + 0.001 * ((night * 7 + cell) % 5));

const CASES: Readonly<Record<string, Case>> = {
  'nothing slower': { value: steady },
  'slower since the newest sweep': {
    value: (cell, night) => steady(cell, night) * (cell === 1 && night === NIGHTS - 1 ? 1.2 : 1),
  },
  'slower for some sweeps': { value: (cell, night) => steady(cell, night) * (cell === 1 && night >= 20 ? 1.2 : 1) },
  'a cell without a result': {
    value: (cell, night) => (cell === 2 && night === NIGHTS - 1 ? null : steady(cell, night)),
  },
  'few sweeps': { value: steady, nights: 4 },
};

const LOST = `UPDATE runs SET outcome = 'failed' WHERE (sweep_id, cell_key) = (
  SELECT sweep_id, cell_key FROM runs ORDER BY started_at DESC LIMIT 1)`;

/** What `compare` without sides says of the newest sweep is what `check` says, whether the store has it or not. */
test.each(Object.entries(CASES))(
  '%s: before and after an acknowledgement, and after a cell was lost',
  async (_, { nights = NIGHTS, value }) => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    const compared = async (path: string) => {
      const { code, stdout } = await bench(['compare', '--db', path], { cwd: temporaryFolder() });
      return [code, stdout];
    };
    const check = async () => {
      const { code, stdout } = await bench(['check', '--db', db], { cwd: temporaryFolder() });
      return [code, stdout];
    };
    const forgotten = () => {
      const copy = join(temporaryFolder(), 'bench.sqlite');
      change(db, 'PRAGMA wal_checkpoint(TRUNCATE)');
      copyFileSync(db, copy);
      change(copy, 'UPDATE judged_sweeps SET failed_cells = NULL');
      return copy;
    };

    for (let night = 0; night < nights; night += 1) {
      simulateNights(db, { cells: CELLS, nights: 1, after: night, repeats: 2, value });
      if (night >= 19 || night === nights - 1) await check();
    }
    const isJudged = queryStore(db, 'SELECT failed_cells FROM judged_sweeps').length;
    expect(isJudged).toBe(Math.max(1, nights - 19));
    for (const happens of [
      () => {},
      () => bench(['ack', '--all', '--reason', 'known', '--db', db]),
      () => (change(db, LOST), check()),
      () => change(db, LOST.replace('LIMIT 1', 'LIMIT 1 OFFSET 2')),
    ]) {
      await happens();
      const fromStore = await compared(db);
      expect(fromStore).toEqual(await compared(forgotten()));
      expect(fromStore).toEqual(await check());
    }
  },
);
