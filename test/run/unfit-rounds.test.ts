import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { UnfitReason } from '../../src/records/outcome.ts';
import type { RunFlag } from '../../src/records/run-flag.ts';
import { UnfitRounds } from '../../src/run/unfit-rounds.ts';
import { bench, temporaryFolder } from '../support/bench.ts';
import { OUTPUTS } from '../support/outputs.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB } from '../support/stub.ts';
import { batchMatrix } from '../support/trouble.ts';

const evidence = [{ stream: 'stdout' as const, line: 0, text: 'python3 (4711)' }];
const unfit = (reason: UnfitReason) => ({
  role: 'timed' as const,
  flags: [],
  outcome: { kind: 'unfit' as const, reason, evidence },
});
const failed = {
  role: 'timed' as const,
  flags: [],
  outcome: { kind: 'failed' as const, reason: 'timeout' as const, evidence },
};
const measured = (flags: readonly RunFlag[] = []) => ({
  role: 'timed' as const,
  flags,
  outcome: { kind: 'measured' as const, evidence: [] },
});
const contended: RunFlag = { id: 'contended', effect: 'explained', value: null, evidence: 'python3 (4711)' };

/** The number of runs after which it stops; null if it does not. @param runs by cell, in turn */
function stopsAfter(
  cells: readonly string[],
  runs: readonly (ReturnType<typeof unfit> | typeof failed | ReturnType<typeof measured>)[],
) {
  const rounds = new UnfitRounds();
  rounds.begin(cells);
  const places = [...runs.entries()];
  const found = places.find(([place, run]) => rounds.take(cells[place % cells.length] ?? '', run) !== null);
  return found === undefined ? null : found[0] + 1;
}

const times = <Run>(count: number, run: Run): Run[] => Array.from({ length: count }, () => run);
const FIVE = ['a', 'b', 'c', 'd', 'e'];

test.each([
  ['a whole round of five cells', FIVE, times(9, unfit('contended')), 5],
  ['a round of eight cells', [...FIVE, 'f', 'g', 'h'], times(9, unfit('throttled')), 8],
  ['five runs of three cells', ['a', 'b', 'c'], times(9, unfit('optionsDiffer')), 5],
  ['two cells never', ['a', 'b'], times(20, unfit('contended')), null],
  ['what is of the cell never', FIVE, times(20, unfit('graphNotCaptured')), null],
  ['two reasons do not add up', FIVE, [...times(4, unfit('contended')), ...times(6, unfit('throttled'))], 9],
  [
    'a fit run begins the count again',
    FIVE,
    [...times(4, unfit('contended')), measured(), ...times(6, unfit('contended'))],
    10,
  ],
  ['measured runs with a process on the GPU count, too', FIVE, times(9, measured([contended])), 5],
  ['a cell that failed is not waited for', [...FIVE, 'f'], [...times(5, unfit('contended')), failed], 6],
  ['nor does it end the row', FIVE, [unfit('contended'), failed, ...times(6, unfit('contended'))], 6],
])('%s', (_, cells, runs, after) => {
  expect(stopsAfter(cells, runs)).toBe(after);
});

test('a sweep on a GPU that something else uses stops after its first round, and goes on when it is free', async () => {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  const matrix = batchMatrix(folder, [1, 2, 3, 4, 5], ['repeats: 3']);
  const env = { STUB_JOURNAL: join(folder, 'journal') };
  const until = (runs: number) => ({
    ...env,
    STUB_CONTENDED: JSON.stringify({
      when: '--loadEngine',
      runs: Array.from({ length: runs }, (_, place) => place + 1),
    }),
  });
  const options = ['--db', db, '--no-telemetry'];
  const stopped = await bench(['run', matrix, '--trtexec', STUB, '--json', ...options], { cwd: folder, env: until(7) });
  const [sweep] = queryStore<{ id: string; state: string }>(db, 'SELECT sweep_id AS id, state FROM sweeps');
  const short = sweep?.id.slice(0, 8) ?? '';
  expect([stopped.code, stopped.stderr.trimEnd().split('\n').at(-1)]).toEqual([
    4,
    expect.stringMatching(
      `^bench: stopped: 5 runs in a row, of 5 cells, are unfit: something else used the GPU \\(.*\\); what was measured is stored: go on with \`bench run --resume ${short}.*\`$`,
    ),
  ]);
  // The sixth was being measured while the fifth was read.
  expect(OUTPUTS.run.parse(JSON.parse(stopped.stdout))).toMatchObject({
    state: 'interrupted',
    counts: { measured: 0, unfit: 6 },
    stopped: { reason: 'contended', runs: 5, cells: 5 },
  });
  expect(sweep?.state).toBe('interrupted');
  const resumed = await bench(['run', '--resume', '--json', ...options], { cwd: folder, env: until(7) });
  expect([resumed.code, OUTPUTS.run.parse(JSON.parse(resumed.stdout)).counts]).toEqual([
    0,
    { measured: 15, unfit: 1, failed: 0, skipped: 0, kept: 6, replaced: 7 },
  ]);
  expect(queryStore(db, 'SELECT state FROM sweeps')).toEqual([{ state: 'finished' }]);
});
