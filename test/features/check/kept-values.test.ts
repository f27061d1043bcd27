import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';

import { seededRandom } from '../../../src/matrix/plan/order.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { nightDate, normals, simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import { queryStore } from '../../support/store-dump.ts';

const CELLS = simulatedCells(4);
const NOISE = Array.from({ length: 4000 }, normals(3)).map((z) => 0.005 * z);

/** Cells 1 and 3 are slower from night 20 to 35, and cell 2 from 30 on. */
function value(cell: number, night: number, repeat: number): number | null {
  if ((night * 7 + cell * 3 + repeat) % 41 === 0) return null;
  const step = (cell % 2 === 1 && night >= 20 && night < 35) || (cell === 2 && night >= 30) ? 1.08 : 1;
  return (0.5 + 0.1 * cell) * step * Math.exp(NOISE[(night * CELLS.length + cell) * 3 + repeat] ?? 0);
}

const simulated = {
  cells: CELLS,
  value,
  driver: (night: number) => (night < 25 ? '580.1' : '580.2'),
  clock: (cell: number, night: number) => 1900 + cell + (night % 13 === 0 ? 60 : 0),
  flags: (cell: number, night: number, repeat: number) =>
    (cell + night * repeat) % 17 === 0
      ? [{ id: 'hostBound' as const, effect: 'explained' as const, value: 1, evidence: '' }]
      : (cell + night) % 23 === 0 && repeat === 1
        ? [{ id: 'contended' as const, effect: 'widened' as const, value: 1, evidence: '' }]
        : [],
};

function change(db: string, sql: string): void {
  const client = new Database(db);
  client.pragma('foreign_keys = ON');
  client.exec(sql);
  client.close();
}

const said = `SELECT * FROM findings f JOIN finding_cells c USING (finding_id) ORDER BY f.finding_id, c.cell_key, c.metric`;
const kept = (db: string) => queryStore(db, 'SELECT sweep_id FROM sweep_values');

/** What the gate says, with what it stored of it; what stderr says is the same in both stores. */
async function checked(db: string): Promise<unknown> {
  const { code, stdout, stderr } = await bench(['check', '--json', '--db', db], { cwd: temporaryFolder() });
  return [code, stdout, stderr, queryStore(db, said)];
}

/** What happens to a store from one morning to the next. */
class Mornings {
  readonly db = join(temporaryFolder(), 'bench.sqlite');
  private readonly random: () => number;
  private night = 12;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    // Every second night: what is imported later lies in between.
    for (let night = 0; night < this.night; night += 2) this.add(this.db, night);
  }

  private add(db: string, night: number, repeats: number = 2): void {
    simulateNights(db, { ...simulated, nights: 1, after: night, repeats });
  }

  private readonly events = {
    newSweep: async () => {
      this.night += 2;
      this.add(this.db, this.night - 2);
    },
    olderSweep: () => this.merged(2 * Math.floor((this.random() * this.night) / 2) + 1),
    moreRuns: () => this.merged(2 * Math.floor((this.random() * this.night) / 2), 3),
    prune: () => this.run('db', 'prune', '--keep-sweeps', '3'),
    acknowledge: () => this.run('ack', '--all', '--reason', 'known'),
    takeBack: () => this.run('ack', '--all', '--undo'),
    otherRules: async () => change(this.db, `UPDATE sweep_values SET format = 'of an older bench' WHERE rowid % 2`),
    damaged: async () => change(this.db, `UPDATE sweep_values SET facts = '{' WHERE rowid % 3 = 0`),
    redated: async () => change(this.db, `UPDATE runs SET started_at = '${nightDate(3)}T01:00:00Z' WHERE repeat = 2`),
    lostRuns: async () => change(this.db, `DELETE FROM runs WHERE rowid % 97 = ${Math.floor(this.random() * 97)}`),
  };

  async next(): Promise<string> {
    const names = Object.keys(this.events);
    const isNight = this.random() < 0.4;
    const name = isNight ? 'newSweep' : (names[Math.floor(this.random() * names.length)] ?? '');
    for (const [event, happen] of Object.entries(this.events)) if (event === name) await happen();
    return name;
  }

  private async merged(night: number, repeats?: number): Promise<void> {
    const other = join(temporaryFolder(), 'other.sqlite');
    this.add(other, night, repeats);
    await this.run('db', 'merge', other);
  }

  private async run(...args: string[]): Promise<void> {
    await bench([...args, '--db', this.db], { cwd: temporaryFolder() });
  }
}

/** The same store as if nothing had been kept of earlier mornings. */
function forgotten(db: string): string {
  const copy = join(temporaryFolder(), 'bench.sqlite');
  change(db, 'PRAGMA wal_checkpoint(TRUNCATE)');
  copyFileSync(db, copy);
  change(copy, 'DELETE FROM sweep_values');
  return copy;
}

describe('what was read of a sweep is not read again', () => {
  test.each([1, 2, 3, 4])('whatever happens to the store, the gate says the same: seed %i', async (seed) => {
    const mornings = new Mornings(seed);
    for (let morning = 0; morning < 24; morning += 1) {
      const event = await mornings.next();
      const all = await checked(forgotten(mornings.db));
      expect([event, await checked(mornings.db)]).toEqual([event, all]);
    }
    expect(kept(mornings.db).length).toBeGreaterThan(12);
  });

  test('only of the sweep whose runs came, changed or went', async () => {
    const { db } = new Mornings(1);
    await checked(db);
    const before = kept(db);
    for (const statement of [
      `UPDATE runs SET outcome = 'failed' WHERE rowid = (SELECT min(rowid) FROM runs)`,
      'DELETE FROM runs WHERE rowid = (SELECT min(rowid) FROM runs)',
    ]) {
      change(db, statement);
      expect(kept(db)).toEqual(before.slice(1));
      await checked(db);
      expect(kept(db)).toHaveLength(before.length);
    }
    expect(before).toEqual(Array.from({ length: 6 }, (_, place) => ({ sweep_id: sweepOfNight(2 * place) })));
  });

  test('a check that dies keeps all or nothing, and the next one says the same', async () => {
    const { db } = new Mornings(2);
    const all = await checked(forgotten(db));
    const dies = (table: string) =>
      `CREATE TRIGGER dies BEFORE INSERT ON ${table} WHEN (SELECT count(*) FROM sweep_values) >= 3
       BEGIN SELECT RAISE(ABORT, 'dead'); END`;
    for (const [table, count] of [
      ['sweep_values', 0],
      ['judged_sweeps', 6],
    ] as const) {
      change(db, dies(table));
      expect((await bench(['check', '--db', db], { cwd: temporaryFolder() })).code).not.toBe(0);
      expect(kept(db)).toHaveLength(count);
      change(db, 'DROP TRIGGER dies');
    }
    expect(await checked(db)).toEqual(all);
  });

  test('a question about the past, or with another limit, keeps nothing', async () => {
    const { db } = new Mornings(3);
    for (const args of [
      ['--as-of', nightDate(8)],
      ['--min-change', '3'],
    ]) {
      await bench(['check', ...args, '--db', db], { cwd: temporaryFolder() });
    }
    expect(kept(db)).toEqual([]);
  });
});
