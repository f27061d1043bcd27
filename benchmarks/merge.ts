import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';

import { makeLargeStore, RUNS_PER_NIGHT } from './large-store.ts';
import { bench } from './processes.ts';
import { absolute, type Benchmark, type Row, versus } from './row.ts';
import { inTemporaryFolder, medianTimesMs, sized } from './timing.ts';

const RUNS = sized(100_000, 720);
const ROUNDS = sized(3, 1);
const MAX_S = 6.4;

/** Two stores of a hundred thousand runs each become one, and once again. */
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
  const { ours } = await medianTimesMs({ ours: () => (fresh(), merged()) }, ROUNDS);
  const { again } = await medianTimesMs({ again: merged }, ROUNDS);
  // What is no damage is no exit code but 0: else there is no figure.
  const { wallMs: verifyMs } = await bench(['db', 'verify', '--db', into]);
  const what = `bench db merge, ${RUNS / 1000} thousand runs into as many`;
  return [
    absolute(what, ours / 1000, ' s', { atMost: MAX_S }),
    versus('the same again: nothing new', 'the first time', [again, ours], null),
    absolute('bench db verify of both', verifyMs / 1000, ' s', null),
  ];
}

function mustHave(path: string, runs: number): void {
  const db = new Database(path, { fileMustExist: true });
  const stored: unknown = db.prepare('SELECT count(*) FROM runs').pluck().get();
  db.close();
  if (stored !== runs) throw new Error(`${path}: ${String(stored)} runs instead of ${runs}`);
}
