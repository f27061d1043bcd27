import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import Database from 'better-sqlite3';
import { expect, test } from 'vitest';

import { bench, ROOT, temporaryFolder } from '../support/bench.ts';
import { dumpTables } from '../support/store-dump.ts';
import { kept, unpack } from './kept.ts';

/** Where the sweeps were begun, and where bench and its recordings lay. */
const [PLACE_THEN, BENCH_THEN] = ['/tmp/bench-pins/interrupted', '/tmp/bench-pins/bench'];

/** One was ended by Ctrl-C in its third run, the other by SIGKILL: its trtexec ended its run alone. */
const SWEEPS = { 'Ctrl-C': '74930f72', SIGKILL: '28594b13' };

/** Times of day, how long processes of today take, places, random ids, and checksums of rows that hold these. */
const PASSING = {
  attempts: ['started_at', 'ended_at'],
  invocations: ['invocation_id', 'argv'],
  runs: ['invocation_id', 'started_at', 'wall_s'],
  sweeps: ['finished_at', 'plan'],
};

test('sweeps that were interrupted then are resumed: the same runs, ids and numbers', async () => {
  const folder = temporaryFolder();
  unpack('interrupted', folder);
  move(folder);
  const texts: string[] = [];
  for (const id of Object.values(SWEEPS)) {
    // The identity of a matrix holds absolute paths of models: it is pinned with the other ids.
    const { code, stderr: printed } = await bench(['run', '--resume', id, '--anyway'], { cwd: folder });
    const stderr = printed.replace(/^note: the store was brought up to date[^\n]*\n/, '');
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^note: going on although the matrix \S+ says something else now\n/),
    ]);
    texts.push(stderr.replaceAll(ROOT, '~'));
  }
  const tables = dumpTables(join(folder, 'bench.sqlite'), PASSING);
  const content = JSON.stringify({ texts, tables }, null, 1).replaceAll(folder, '~');
  expect(content).toBe(kept('interrupted/resumed.txt', content));
});

/** The store and its folders lie here now, and not where they were made. */
function move(folder: string): void {
  const moved = (text: string): string => text.replaceAll(PLACE_THEN, folder).replaceAll(BENCH_THEN, ROOT);
  const db = new Database(join(folder, 'bench.sqlite'));
  db.function('moved', { deterministic: true }, (text) => moved(String(text)));
  db.exec('UPDATE sweeps SET plan = moved(plan) WHERE plan IS NOT NULL');
  db.close();
  for (const name of readdirSync(join(folder, 'artefacts'), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.json')) continue;
    const path = join(folder, 'artefacts', name);
    writeFileSync(path, moved(readFileSync(path, 'utf8')));
  }
}
