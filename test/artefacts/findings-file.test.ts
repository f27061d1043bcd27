import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { migrationsFolder } from '../../src/cli/store-location.ts';
import { takeFindings } from '../../src/artefacts/findings-file.ts';
import { openStore } from '../../src/store/file/open.ts';
import { temporaryStore } from '../support/bench.ts';
import { simulatedCells, simulateNights, sweepOfNight } from '../support/simulated-store.ts';
import { queryStore } from '../support/store-dump.ts';

const CELLS = simulatedCells(1);
const SWEEP = sweepOfNight(1);

/** As the version before reference levels wrote it. */
function earlier(digit: string, state: string, more: object = {}) {
  return {
    findingId: digit.repeat(32),
    kind: 'change',
    isWarning: false,
    provenance: 'simulated',
    branch: 'main',
    matrix: 'nightly',
    direction: 'slower',
    state,
    group: [],
    confirmedBy: 'history',
    cause: null,
    environmentChanges: [],
    probability: 0.97,
    pairs: null,
    lastGoodSweepId: sweepOfNight(0),
    firstBadSweepId: SWEEP,
    lastBadSweepId: null,
    reportedSweepId: SWEEP,
    owner: 'team-vision',
    cells: [
      {
        cellKey: CELLS[0]?.key,
        metric: 'gpuComputeMs',
        changePercent: 6,
        ciPercent: null,
        margin: 2,
        before: 1,
        after: 1.06,
      },
    ],
    ...more,
  };
}

test('artefacts of a version before reference levels come with their findings, as open or recovered', async () => {
  const { folder, db } = temporaryStore();
  simulateNights(db, { cells: CELLS, nights: 2, repeats: 1, value: () => 1, branch: 'main' });
  const path = join(folder, 'artefacts', SWEEP);
  mkdirSync(path, { recursive: true });
  const mark = { reason: 'known', until: '2026-12-31', owner: 'me', createdAt: '2026-01-03T00:00:00.000Z' };
  const file = {
    schemaVersion: 1,
    sweepId: SWEEP,
    judged: { sweepId: SWEEP, judgedAt: '2026-01-02T04:00:00.000Z', judgedBy: 'previousSweep', failedCells: 0 },
    findings: [
      earlier('1', 'confirmed', { confirmedBy: 'previousSweep' }),
      earlier('2', 'open', { kind: 'environment', confirmedBy: 'pairs' }),
      earlier('3', 'machine'),
      earlier('4', 'cleared'),
      earlier('5', 'suspected'),
      earlier('6', 'recovered', { kind: 'limit', confirmedBy: 'measured' }),
    ],
    acknowledgements: ['1', '5'].map((digit) => ({ ...mark, findingId: digit.repeat(32) })),
  };
  writeFileSync(join(path, 'findings.json'), JSON.stringify(file));
  const store = openStore(db, migrationsFolder());
  await takeFindings(store.db, [{ path }], join(folder, 'artefacts'));
  store.close();
  const rows = queryStore<Record<string, string>>(
    db,
    'SELECT finding_id, kind, state, lasts, cause, owner FROM findings ORDER BY 1',
  );
  expect(
    rows.map(({ finding_id: id, kind, state, lasts, cause }) => [id?.slice(0, 1), kind, state, lasts, cause]),
  ).toEqual([
    ['1', 'change', 'open', null, null],
    ['2', 'change', 'open', 'pairs', 'environment'],
    ['3', 'change', 'open', 'history', 'machine'],
    ['4', 'change', 'recovered', 'history', null],
    ['6', 'limit', 'recovered', 'measured', null],
  ]);
  expect(queryStore(db, 'SELECT substr(finding_id, 1, 1) AS id, reason, until, owner FROM acknowledgements')).toEqual([
    { id: '1', reason: 'known', until: '2026-12-31', owner: 'me' },
  ]);
  expect(queryStore(db, 'SELECT sweep_id, judged_by FROM judged_sweeps')).toEqual([
    { sweep_id: SWEEP, judged_by: 'earlierRules' },
  ]);
  // It is written again in the form of today.
  const again: { schemaVersion: number; findings: object[] } = JSON.parse(
    readFileSync(join(path, 'findings.json'), 'utf8'),
  );
  expect([again.schemaVersion, again.findings.length]).toEqual([2, 5]);
});
