import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';

import { MERGED_TABLES } from '../src/store/merge/tables.ts';
import { makeLargeStore, RUNS_PER_NIGHT } from './large-store.ts';
import { bench } from './processes.ts';
import { absolute, type Benchmark, type Row, versus } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized, timedMs } from './timing.ts';

const RUNS = sized(100_000, 720);
const ROUNDS = sized(3, 1);
const MAX_S = 6.4;

/** Two stores of a hundred thousand runs each become one; beside the same by hand, and once again. */
export const merge: Benchmark = { name: 'merge', run: () => inTemporaryFolder(measure) };

async function measure(folder: string): Promise<Row[]> {
  const [one, two, into] = ['one', 'two', 'into'].map((name) => join(folder, `${name}.sqlite`));
  if (one === undefined || two === undefined || into === undefined) return [];
  const nights = Math.ceil(RUNS / RUNS_PER_NIGHT);
  for (const path of [one, two]) makeLargeStore(path, nights);
  const runs = 2 * nights * RUNS_PER_NIGHT;
  const fresh = (): void => copyFileSync(one, into);
  const merged = async (): Promise<number> => {
    const { wallMs } = await bench(['db', 'merge', two, '--db', into]);
    mustHave(into, runs);
    return wallMs;
  };
  const times = await medianTimesMs(
    {
      ours: () => (fresh(), merged()),
      byHand: async () => {
        fresh();
        const timeMs = await timedMs(() => mergeByHand(into, two));
        mustHave(into, runs);
        return timeMs;
      },
    },
    ROUNDS,
  );
  fresh();
  await merged();
  const { again } = await medianTimesMs({ again: merged }, ROUNDS);
  // What is no damage is no exit code but 0: else there is no figure.
  const { wallMs: verifyMs } = await bench(['db', 'verify', '--db', into]);
  const what = `bench db merge, ${RUNS / 1000} thousand runs into as many`;
  return [
    absolute(what, times.ours / 1000, ' s', { atMost: MAX_S }),
    versus(what, 'ATTACH, INSERT OR IGNORE', [times.ours, times.byHand], null),
    versus('the same again: nothing new', 'the first time', [again, times.ours], null),
    absolute('bench db verify of both', verifyMs / 1000, ' s', null),
  ];
}

/** What somebody does who knows the schema: table by table, as safe on the disk, and blind for what differs. */
function mergeByHand(into: string, other: string): void {
  const db = new Database(into);
  db.pragma('foreign_keys = ON');
  db.pragma('synchronous = FULL');
  db.prepare('ATTACH ? AS other').run(other);
  db.exec('BEGIN');
  for (const table of Object.values(MERGED_TABLES).flat()) {
    db.exec(`INSERT OR IGNORE INTO main."${table}" SELECT * FROM other."${table}"`);
  }
  db.exec('COMMIT');
  db.close();
}

function mustHave(path: string, runs: number): void {
  const db = new Database(path, { fileMustExist: true });
  const stored: unknown = db.prepare('SELECT count(*) FROM runs').pluck().get();
  db.close();
  if (stored !== runs) throw new Error(`${path}: ${String(stored)} runs instead of ${runs}`);
}
