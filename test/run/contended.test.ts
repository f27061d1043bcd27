import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { UnfitReason, RunFlag } from '../../src/records/outcome.ts';
import { UnfitRounds } from '../../src/run/unfit-rounds.ts';
import { temporaryStore } from '../support/bench.ts';
import { simulatedStore } from '../support/made-stores.ts';
import { benchJson, OUTPUTS } from '../support/outputs.ts';
import { normals, simulatedCells } from '../support/simulated-store.ts';
import { queryStore } from '../support/store-dump.ts';
import { STUB } from '../support/stub.ts';
import { batchMatrix } from '../support/trouble.ts';

const OTHER = 'another process on the GPU: python3 (4711); the mean is 4.2 % over the undisturbed time';
const contended = (effect: RunFlag['effect']): RunFlag => ({ id: 'contended', effect, value: 4.2, evidence: OTHER });
const BETWEEN_SWEEPS = 8;

async function checked(db: string) {
  const { code, json } = await benchJson(OUTPUTS.check, ['check', '--db', db]);
  const [{ cells = [], headline = '' } = {}] = json.series;
  return { cells, said: [code, json.findings, headline] };
}

/**
 * Eight sweeps of four cells; in the last one times are 30 % and p99 330 % higher.
 * @param isShared the runs of the last sweep that shared the GPU
 */
function stored(isShared: (cell: number, repeat: number) => boolean, effect: RunFlag['effect'] = 'explained'): string {
  const normal = normals(7);
  const isOff = (cell: number, night: number, repeat: number): boolean =>
    night === BETWEEN_SWEEPS - 1 && isShared(cell, repeat);
  return simulatedStore({
    cells: simulatedCells(4),
    nights: BETWEEN_SWEEPS,
    repeats: 3,
    value: (cell, night, repeat) => (isOff(cell, night, repeat) ? 1.3 : 1) * Math.exp(0.002 * normal()),
    figures: (cell, night, repeat) => ({
      p99Ms: (isOff(cell, night, repeat) ? 4.3 : 1) * 1.1 * Math.exp(0.002 * normal()),
    }),
    flags: (cell, night, repeat) => (isOff(cell, night, repeat) ? [contended(effect)] : []),
  });
}

test.each(['explained', 'widened'] as const)(
  'another process on the GPU, %s: no result for any metric',
  async (effect) => {
    const { cells, said } = await checked(stored(() => true, effect));
    expect(said).toEqual([4, [], '4 cells without a result']);
    for (const { notes, reason, verdict } of cells) {
      expect([verdict, reason, notes]).toEqual(['noResult', 'failed', [`contended: ${OTHER}`]]);
    }
  },
);

test('some runs of a cell share the GPU: the others count', async () => {
  const { cells, said } = await checked(stored((cell, repeat) => cell === 0 || repeat === 1));
  expect(said).toEqual([4, [], 'nothing slower; 1 cell without a result']);
  const first = simulatedCells(1).map(({ key }) => key);
  for (const { key, runs, verdict } of cells) {
    expect([verdict, runs]).toEqual(first.includes(key) ? ['noResult', 0] : ['same', 2]);
  }
});

type Run = Parameters<UnfitRounds['take']>[1];

const evidence = [{ stream: 'stdout' as const, line: 0, text: 'python3 (4711)' }];
const runOf = (outcome: Run['outcome'], flags: readonly RunFlag[] = []): Run => ({ role: 'timed', flags, outcome });
const unfit = (reason: UnfitReason) => runOf({ kind: 'unfit', reason, evidence });
const failed = runOf({ kind: 'failed', reason: 'timeout', evidence });
const measured = (flags: readonly RunFlag[] = []) => runOf({ kind: 'measured', evidence: [] }, flags);

/** The number of runs after which it stops; null if it does not. @param runs by cell, in turn */
function stopsAfter(cells: readonly string[], runs: readonly Run[]) {
  const rounds = new UnfitRounds();
  rounds.begin(cells);
  const places = [...runs.entries()];
  const found = places.find(([place, run]) => rounds.take(cells[place % cells.length] ?? '', run) !== null);
  return found === undefined ? null : found[0] + 1;
}

const times = (count: number, run: Run): Run[] => Array.from({ length: count }, () => run);
const FIVE = ['a', 'b', 'c', 'd', 'e'];
const AFTER_FIT = [...times(4, unfit('contended')), measured(), ...times(6, unfit('contended'))];

test.each([
  ['a whole round of five cells', FIVE, times(9, unfit('contended')), 5],
  ['a round of eight cells', [...FIVE, 'f', 'g', 'h'], times(9, unfit('throttled')), 8],
  ['five runs of three cells', ['a', 'b', 'c'], times(9, unfit('optionsDiffer')), 5],
  ['two cells never', ['a', 'b'], times(20, unfit('contended')), null],
  ['what is of the cell never', FIVE, times(20, unfit('graphNotCaptured')), null],
  ['two reasons do not add up', FIVE, [...times(4, unfit('contended')), ...times(6, unfit('throttled'))], 9],
  ['a fit run begins the count again', FIVE, AFTER_FIT, 10],
  ['measured runs with a process on the GPU count, too', FIVE, times(9, measured([contended('explained')])), 5],
  ['a cell that failed is not waited for', [...FIVE, 'f'], [...times(5, unfit('contended')), failed], 6],
  ['nor does it end the row', FIVE, [unfit('contended'), failed, ...times(6, unfit('contended'))], 6],
])('%s', (_, cells, runs, after) => expect(stopsAfter(cells, runs)).toBe(after));

test('a sweep on a GPU that something else uses stops after its first round, and goes on when it is free', async () => {
  const { folder, db } = temporaryStore();
  const matrix = batchMatrix(folder, [1, 2, 3, 4, 5], ['repeats: 3']);
  const STUB_CONTENDED = JSON.stringify({ when: '--loadEngine', runs: [1, 2, 3, 4, 5, 6, 7] });
  const env = { STUB_JOURNAL: join(folder, 'journal'), STUB_CONTENDED };
  const run = (...args: string[]) =>
    benchJson(OUTPUTS.run, ['run', ...args, '--db', db, '--no-telemetry'], { cwd: folder, env });
  const stopped = await run(matrix, '--trtexec', STUB);
  const [sweep] = queryStore<{ id: string; state: string }>(db, 'SELECT sweep_id AS id, state FROM sweeps');
  const short = sweep?.id.slice(0, 8) ?? '';
  const text = `^bench: stopped: 5 runs in a row, of 5 cells, are unfit: something else used the GPU \\(.*\\); what was measured is stored: continue with \`bench run --resume ${short}.*\`$`;
  expect([stopped.code, stopped.stderr.trimEnd().split('\n').at(-1)]).toEqual([4, expect.stringMatching(text)]);
  // The sixth was being measured while the fifth was read.
  expect(stopped.json).toMatchObject({
    state: 'interrupted',
    counts: { measured: 0, unfit: 6 },
    stopped: { reason: 'contended', runs: 5, cells: 5 },
  });
  expect(sweep?.state).toBe('interrupted');
  const resumed = await run('--resume');
  const expected = [0, { measured: 15, unfit: 1, failed: 0, skipped: 0, kept: 6, replaced: 7 }];
  expect([resumed.code, resumed.json.counts]).toEqual(expected);
  expect(queryStore(db, 'SELECT state FROM sweeps')).toEqual([{ state: 'finished' }]);
});
