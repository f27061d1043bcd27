import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { beforeAll, expect, test } from 'vitest';

import { bench, finished, sharedFolder, startBench, temporaryFolder } from '../../support/bench.ts';
import { readFixture } from '../../support/recordings.ts';
import { dumpTables } from '../../support/store-dump.ts';

const LOGS = 300;
/** When it was imported, which orders sweeps without a date. */
const BY_THE_CLOCK = { sweep_imports: ['imported_at'] };

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

/** Folders of runs, finished or not. */
function keptIn(artefacts: string): number {
  if (!existsSync(artefacts)) return 0;
  const sweeps = readdirSync(artefacts).filter((name) => !name.startsWith('.'));
  return sweeps.reduce((sum, sweep) => sum + readdirSync(join(artefacts, sweep)).length, 0);
}
