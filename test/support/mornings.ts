import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';

import { bench, ROOT, temporaryFolder } from './bench.ts';
import { readFixture } from './recordings.ts';
import { nightDate, normals, simulatedCells, simulateNights, sweepOfNight } from './simulated-store.ts';

const CELLS = simulatedCells(4);
const NOISE = Array.from({ length: 6000 }, normals(3)).map((z) => 0.005 * z);

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

export function change(db: string, sql: string): void {
  const client = new Database(db);
  client.pragma('foreign_keys = ON');
  client.exec(sql);
  client.close();
}

/** Changes a run, then others, and dies in the middle of that. */
const KILLED_WRITER = `
  import Database from 'better-sqlite3';
  const db = new Database(process.argv[1]);
  db.pragma('cache_size = 1');
  db.pragma('foreign_keys = ON');
  db.exec("UPDATE runs SET outcome = 'failed' WHERE rowid = 7");
  db.exec('BEGIN IMMEDIATE; DELETE FROM runs WHERE rowid % 2; UPDATE measurements SET gpu_compute_centre_ms = 9');
  process.kill(process.pid, 'SIGKILL');`;

/**
 * A store from one morning to the next: sweeps of a matrix, of every second night, and imported logs. What comes late is of
 * the nights in between.
 */
export class Mornings {
  readonly folder = temporaryFolder();
  readonly db = join(this.folder, 'bench.sqlite');
  private night = 12;

  private constructor() {}

  static async begin(): Promise<Mornings> {
    const mornings = new Mornings();
    for (let night = 0; night < mornings.night; night += 2) mornings.add(mornings.db, night);
    for (let night = 0; night < mornings.night; night += 4) await mornings.importLog(night);
    await mornings.run('baseline', 'set', 'v1');
    return mornings;
  }

  /** @param gate of its matrix */
  sweep(gate: object = {}): void {
    this.add(this.db, this.night);
    const plan = JSON.stringify({ gate });
    change(this.db, `UPDATE sweeps SET plan = '${plan}' WHERE sweep_id = '${sweepOfNight(this.night)}'`);
    this.night += 2;
  }

  nightAmong(pick: number): number {
    return (pick % (this.night / 2)) * 2;
  }

  /** A copy in which nothing is kept of earlier mornings: all is read and judged again. */
  forgotten(): string {
    const copy = join(temporaryFolder(), 'bench.sqlite');
    change(this.db, 'PRAGMA wal_checkpoint(TRUNCATE)');
    copyFileSync(this.db, copy);
    change(copy, 'DELETE FROM sweep_values; UPDATE judged_sweeps SET failed_cells = NULL');
    return copy;
  }

  /** With samples and layers, so that there is something to prune. */
  private add(db: string, night: number, repeats: number = 2): void {
    simulateNights(db, { ...simulated, nights: 1, after: night, repeats });
    change(
      db,
      `INSERT INTO samples (run_id, count, data) SELECT run_id, 9, zeroblob(900) FROM runs WHERE sweep_id = '${sweepOfNight(night)}'`,
    );
  }

  async importLog(night: number): Promise<void> {
    const [year, month, day] = nightDate(night).split('-');
    const kind = night % 3 === 0 ? 'level0' : 'normal';
    const log = readFixture(`level0/pairs/vit_small.fp16.b8.graph1/0${1 + (night % 3)}-${kind}/stdout.log.br`);
    const folder = join(temporaryFolder(), `night${night}`);
    mkdirSync(folder);
    const dated = log.toString().replaceAll(/\[11\/21\/2026-/g, `[${month}/${day}/${year}-`);
    writeFileSync(join(folder, 'run.log'), dated);
    await this.run('import', folder, '--model', 'vit_small', '--precision', 'fp16');
  }

  killedWriter(): void {
    const script = ['--input-type=module', '-e', KILLED_WRITER, this.db];
    const { signal, stderr } = spawnSync(process.execPath, script, { cwd: ROOT, encoding: 'utf8' });
    if (signal !== 'SIGKILL') throw new Error(stderr);
  }

  async merge(night: number, repeats?: number): Promise<void> {
    const other = join(temporaryFolder(), 'other.sqlite');
    this.add(other, night, repeats);
    await this.run('db', 'merge', other);
  }

  /** Of the runs of one cell in one of the newest sweeps. */
  ofCell(pick: number, set: string): void {
    const one = `SELECT sweep_id, cell_key FROM runs ORDER BY started_at DESC LIMIT 1 OFFSET ${pick % 20}`;
    change(this.db, `UPDATE runs ${set} WHERE (sweep_id, cell_key) = (${one})`);
  }

  async run(...args: string[]): Promise<void> {
    const { code, stderr } = await bench([...args, '--db', this.db], { cwd: this.folder });
    // A store that was changed contradicts another one.
    if (code !== 0 && !(code === 4 && args[1] === 'merge') && args[0] !== 'ack')
      throw new Error(`bench ${args.join(' ')}: ${code}: ${stderr}`);
  }
}

const LIMIT = {
  text: 'context <= 20 MiB',
  filter: null,
  metric: 'contextMemoryMib',
  comparison: '<=',
  value: 20,
  cells: null,
};

/** What may happen to a store; each with a number of its own that says which sweep or run it meets. */
export const EVENTS: readonly (readonly [name: string, happens: (mornings: Mornings, pick: number) => unknown])[] = [
  ['an older sweep is imported', (one, pick) => one.importLog(one.nightAmong(pick) + 1)],
  ['an older sweep is merged', (one, pick) => one.merge(one.nightAmong(pick) + 1)],
  ['more runs of an older sweep are merged', (one, pick) => one.merge(one.nightAmong(pick), 3)],
  [
    'samples, artefacts and attachments are pruned',
    (one) => one.run('db', 'prune', '--keep-sweeps', '2', '--layers', '--attachments-older-than', '1h', '--vacuum'),
  ],
  ['all is acknowledged', (one) => one.run('ack', '--all', '--reason', 'known')],
  ['that is taken back', (one) => one.run('ack', '--all', '--undo')],
  ['the baseline is the newest sweep', (one) => one.run('baseline', 'set', 'v1', '--force')],
  [
    'the baseline is another one',
    (one, pick) => one.run('baseline', 'set', 'v1', sweepOfNight(one.nightAmong(pick)), '--force'),
  ],
  [
    'the next sweep has other limits',
    (one, pick) =>
      one.sweep({ minChange: [{ metric: null, cells: null, percent: 0.5 + (pick % 10) }], limits: [LIMIT] }),
  ],
  ['the next sweep has none', (one) => one.sweep()],
  ['the sweeps are judged again', (one) => one.run('db', 'rejudge')],
  ['a cell turns out to have failed', (one, pick) => one.ofCell(pick, `SET outcome = 'failed', reason = 'crashed'`)],
  ['a cell turns out to be another one', (one, pick) => one.ofCell(pick, `SET cell_key = '${CELLS[0]?.key}'`)],
  [
    'runs have another date',
    ({ db }) => change(db, `UPDATE runs SET started_at = '${nightDate(3)}T01:00:00Z' WHERE repeat = 2`),
  ],
  ['runs are lost', ({ db }, pick) => change(db, `DELETE FROM runs WHERE rowid % 97 = ${pick % 97}`)],
  ['a writer is killed', (one) => one.killedWriter()],
  [
    'another version kept values',
    ({ db }) => change(db, `UPDATE sweep_values SET format = 'of an older bench' WHERE rowid % 2`),
  ],
  ['what was kept is damaged', ({ db }) => change(db, `UPDATE sweep_values SET facts = '{' WHERE rowid % 3 = 0`)],
];
