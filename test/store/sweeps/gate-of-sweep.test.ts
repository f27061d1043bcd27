import { join } from 'node:path';

import { expect, test } from 'vitest';

import { migrationsFolder } from '../../../src/cli/store-location.ts';
import { NO_GATE } from '../../../src/records/gate-settings.ts';
import { newSweep } from '../../../src/records/sweep.ts';
import { openStore } from '../../../src/store/file/open.ts';
import { gateOf, matrixFileOf, saveSweep } from '../../../src/store/sweeps/sweeps.ts';
import { temporaryFolder } from '../../support/bench.ts';

const ID = 'a'.repeat(32);

/** What is read of a sweep with this plan. */
function readOf(plan: unknown) {
  const { db, close } = openStore(join(temporaryFolder(), 'bench.sqlite'), migrationsFolder());
  const sweep = newSweep({ sweepId: ID, source: 'run', provenance: 'measured', state: 'finished', toolVersion: '0' });
  saveSweep(db, sweep, plan);
  const read = { gate: gateOf(db, ID), file: matrixFileOf(db, ID) };
  close();
  return read;
}

test('gate and file of a plan are read without the rest of it', () => {
  const gate = { ...NO_GATE, confirm: true, owners: [{ owner: 'team-vision', cells: null }] };
  expect(readOf({ plan: 'anything', matrix: { file: '/m.yaml', identity: 'x' }, gate })).toEqual({
    gate,
    file: '/m.yaml',
  });
});

test.each([
  ['without a plan', null],
  ['of an older bench', { plan: {}, matrix: null }],
  ['with something else there', { gate: 7, matrix: [] }],
])('a sweep %s has no gate', (_, plan) => {
  expect(readOf(plan)).toEqual({ gate: NO_GATE, file: null });
});
