import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
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
  'nothing new': { value: steady },
  'slower since the newest sweep': {
    value: (cell, night) => steady(cell, night) * (cell === 1 && night === NIGHTS - 1 ? 1.2 : 1),
  },
  'slower for some sweeps': { value: (cell, night) => steady(cell, night) * (cell === 1 && night >= 20 ? 1.2 : 1) },
  'a cell without a result': {
    value: (cell, night) => (cell === 2 && night === NIGHTS - 1 ? null : steady(cell, night)),
  },
  'few sweeps': { value: steady, nights: 4 },
};

/** What `compare` says of the gate, and its exit code; the same whether the store has the answer or not. */
test.each(Object.entries(CASES))('%s: before and after an acknowledgement', async (_, { nights = NIGHTS, value }) => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const compared = async () => {
    const { code, stdout } = await bench(['compare', '--db', db], { cwd: temporaryFolder() });
    return { code, answer: /bench check: [^]*/.exec(stdout)?.[0] };
  };
  const forget = () => {
    const client = new Database(db);
    client.exec('UPDATE judged_sweeps SET failed_cells = NULL');
    client.close();
  };

  for (let night = 0; night < nights; night += 1) {
    simulateNights(db, { cells: CELLS, nights: 1, after: night, repeats: 2, value });
    if (night >= 19 || night === nights - 1) await bench(['check', '--db', db], { cwd: temporaryFolder() });
  }
  const isJudged = queryStore(db, 'SELECT failed_cells FROM judged_sweeps').length;
  expect(isJudged).toBe(Math.max(1, nights - 19));
  for (const args of [[], ['ack', '--all', '--reason', 'known']]) {
    if (args.length > 0) await bench([...args, '--db', db]);
    const fromStore = await compared();
    forget();
    expect(fromStore).toEqual(await compared());
    expect(fromStore.answer).toContain('bench check: ');
  }
});
