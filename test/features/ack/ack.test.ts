import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { migrationsFolder } from '../../../src/cli/store-location.ts';
import type { Finding } from '../../../src/records/finding.ts';
import { openStore } from '../../../src/store/file/open.ts';
import { saveVerdict } from '../../../src/store/sweeps/findings.ts';
import { bench, temporaryFolder, refusal } from '../../support/bench.ts';
import { madeFinding } from '../../support/made-finding.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import { queryStore } from '../../support/store-dump.ts';

const CELLS = simulatedCells(4);

/** Reported in the second of three sweeps. */
function finding(number: number, more: Partial<Finding> = {}): Finding {
  const cellKey = CELLS[number % CELLS.length]?.key ?? '';
  const change = { changePercent: 6, ciPercent: null, margin: 2, before: 1, after: 1.06 };
  const cells = [{ cellKey, metric: 'gpuComputeMs' as const, ...change }];
  return madeFinding(`${number}abcdef0`, 1, { lasts: 'history', cells, ...more });
}

const FINDINGS = [
  finding(1),
  finding(2, { group: ['fp8'] }),
  finding(3, { group: ['fp8', 'vit'], branch: 'next', lasts: null }),
  finding(4, { state: 'recovered' }),
  finding(5, { direction: 'faster' }),
  finding(6, { matrix: 'weekly' }),
];
const [FIRST, SECOND, THIRD, , , SIXTH] = FINDINGS.map(({ findingId }) => findingId);

let cwd: string;
let db: string;

beforeEach(() => {
  cwd = temporaryFolder();
  db = join(cwd, 'bench.sqlite');
  simulateNights(db, { cells: CELLS, nights: 3, repeats: 1, value: () => 1, branch: 'main' });
  const store = openStore(db, migrationsFolder());
  const judged = {
    sweepId: sweepOfNight(1),
    judgedAt: '2026-01-02T04:00:00.000Z',
    judgedBy: 'reference',
    failedCells: 0,
  } as const;
  saveVerdict(store.db, { judged, findings: FINDINGS, retracted: [], endedAcknowledgements: [] });
  store.close();
});

const ack = (...args: readonly string[]) => bench(['ack', ...args, '--db', db], { cwd });

const marks = (): readonly unknown[] =>
  queryStore(db, 'select finding_id, reason, until, owner from acknowledgements order by finding_id');

describe('which findings', () => {
  test('several at once, each by the start of its id', async () => {
    expect(await ack('1abc', '2abc', '1abcd', '--reason', 'new scales', '--owner', 'team-vision')).toMatchObject({
      code: 0,
      stdout: '2 findings (1abcdef0, 2abcdef0) are acknowledged permanently: new scales; --undo reverts this\n',
    });
    const mark = { reason: 'new scales', until: null, owner: 'team-vision' };
    expect(marks()).toEqual([FIRST, SECOND].map((finding_id) => ({ finding_id, ...mark })));
  });

  test('all of a group by a word of it; `ls findings` shows the reason', async () => {
    await ack('fp8', '--reason', 'new scales');
    const { stdout } = await bench(['ls', 'findings', '--db', db], { cwd, env: { COLUMNS: '160' } });
    expect(stdout.match(/^[23]abcdef0 +acknowledged .* new scales$/gm)).toHaveLength(2);
    expect(stdout).toMatch(/^1abcdef0 +open .* graph$/m);
    expect(marks()).toMatchObject([{ finding_id: SECOND }, { finding_id: THIRD }]);
  });

  test('--all is what is slower and open; asked again there is nothing left', async () => {
    const { stdout } = await ack('--all', '--reason', 'new driver', '--json');
    const expected = [FIRST, SECOND, THIRD, SIXTH];
    expect(OUTPUTS.ack.parse(JSON.parse(stdout)).acknowledged.map(({ findingId }) => findingId)).toEqual(expected);
    expect(await ack('--all', '--reason', 'x')).toEqual(refusal('bench: there is no finding to acknowledge\n'));
    expect((await ack('--all', '--undo')).stdout).toMatch(/^4 findings \(.*\) are no longer acknowledged\n$/);
    expect(marks()).toEqual([]);
  });

  test.each([
    [['--matrix', 'weekly'], [SIXTH]],
    [['--branch', 'next'], [THIRD]],
  ])('--all %s', async (only, expected) => {
    await ack('--all', ...only, '--reason', 'x');
    expect(marks().map((row) => JSON.stringify(row).slice(15, 47))).toEqual(expected);
  });

  test.each([
    [['--all', '1abc'], '--all and names of findings cannot be used together'],
    [[], 'which finding? Write its id, as `bench check` prints it, or --all'],
    [['1abc', '--branch', 'main'], '--matrix and --branch need --all: an id names one finding'],
    [['1abc'], 'add --reason "…", which explains the acknowledgement'],
    [
      ['1abc', '--undo', '--owner', 'me'],
      '--undo reverts the whole acknowledgement: leave out --reason, --until and --owner',
    ],
    [['1abc', 'ffff', '--reason', 'x'], 'ffff: finding not found; see `bench ls findings`'],
    [['1abc', '--undo'], 'finding 1abcdef0 is not acknowledged'],
    [['--all', '--undo'], 'no finding is acknowledged'],
    [['1abc', '--reason', 'x', '--until', '2020-01-01'], '--until 2020-01-01: this day is past; today is TODAY (UTC)'],
    [
      ['1abc', '--reason', 'x', '--until', '2999-02-30'],
      '--until 2999-02-30: neither a date (2026-12-31) nor a commit here',
    ],
  ])('%s is wrong use', async (args, problem) => {
    const { code, stderr } = await ack(...args);
    expect([code, stderr.replace(/today is [-\d]{10}/, 'today is TODAY')]).toEqual([2, `bench: ${problem}\n`]);
    expect(marks()).toEqual([]);
  });
});

test('an acknowledgement lies next to the artefacts of the sweep that reported its finding, until it is taken back', async () => {
  const folder = join(cwd, 'artefacts', sweepOfNight(1));
  mkdirSync(folder, { recursive: true });
  await ack('1abc', '--reason', 'known', '--until', '2999-12-31', '--owner', 'team-vision');
  const read = (): { acknowledgements: unknown[] } => JSON.parse(readFileSync(join(folder, 'findings.json'), 'utf8'));
  expect(existsSync(join(folder, 'findings.json'))).toBe(true);
  expect(read().acknowledgements).toMatchObject([
    { findingId: FIRST, reason: 'known', until: '2999-12-31', owner: 'team-vision' },
  ]);
  await ack('1abc', '--undo');
  expect(read().acknowledgements).toEqual([]);
});
