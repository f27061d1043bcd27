import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { beforeAll, expect, test } from 'vitest';

import { bench, finished, sharedFolder, startBench, temporaryFolder } from '../../support/bench.ts';
import { readFixture } from '../../support/recordings.ts';
import { dumpTables, queryStore } from '../../support/store-dump.ts';

const LOGS = 300;
/** When it was imported, which orders sweeps without a date. */
const BY_THE_CLOCK = { sweep_imports: ['imported_at', 'row_checksum'] };

let shared: string;
let logs: string;
let whole: ReturnType<typeof dumpTables>;

beforeAll(async () => {
  shared = sharedFolder();
  logs = join(shared, 'logs');
  mkdirSync(logs);
  const log = readFixture('formats/default-run/stdout.log.br').toString('utf8');
  // In another order than that of their content, so that places in it are told apart.
  for (let index = 0; index < LOGS; index += 1) writeFileSync(join(logs, `${index}.log`), `${log}\n${index}\n`);
  whole = await imported(join(shared, 'bench.sqlite'));
});

async function imported(db: string): Promise<ReturnType<typeof dumpTables>> {
  const { code, stderr } = await bench(['import', logs, '--sweep', 'logs', '--db', db]);
  expect([code, stderr]).toEqual([0, '']);
  return dumpTables(db, BY_THE_CLOCK);
}

test.each(['SIGKILL', 'SIGINT'] as const)('%s in the middle, then the same again: the same rows', async (signal) => {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  const child = startBench(['import', logs, '--sweep', 'logs', '--db', db]);
  const ended = finished(child);
  while (keptIn(join(folder, 'artefacts')) < LOGS / 3) await sleep(1);
  child.kill(signal);
  expect((await ended).code).toBe(signal === 'SIGINT' ? 130 : null);
  expect(await imported(db)).toEqual(whole);
});

test('another run in the place of one ends the import: those before it are stored, and none after it', async () => {
  const repeat = 250;
  const [own] = queryStore<{ folder: string }>(
    join(shared, 'bench.sqlite'),
    `SELECT artefact_folder AS folder FROM runs WHERE repeat = ${repeat}`,
  );
  const folder = temporaryFolder();
  const taken = join(folder, 'artefacts', own?.folder ?? '');
  mkdirSync(taken, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(shared, 'artefacts', own?.folder ?? '', 'run.json'), 'utf8'));
  writeFileSync(join(taken, 'run.json'), JSON.stringify({ ...manifest, startedAt: '2020-01-01T00:00:00.000Z' }));
  const db = join(folder, 'bench.sqlite');
  const { code, stderr } = await bench(['import', logs, '--sweep', 'logs', '--db', db]);
  expect([code, stderr]).toEqual([2, expect.stringContaining('of a run that the store does not know')]);
  const stored = queryStore(db, 'SELECT count(*) AS runs, max(repeat) AS last FROM runs');
  expect(stored).toEqual([{ runs: repeat - 1, last: repeat - 1 }]);
});

/** Folders of runs, finished or not. */
function keptIn(artefacts: string): number {
  if (!existsSync(artefacts)) return 0;
  const sweeps = readdirSync(artefacts).filter((name) => !name.startsWith('.'));
  return sweeps.reduce((sum, sweep) => sum + readdirSync(join(artefacts, sweep)).length, 0);
}
