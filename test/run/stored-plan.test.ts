import { expect, test } from 'vitest';

import { NO_GATE } from '../../src/records/gate-settings.ts';
import { readStoredPlan } from '../../src/run/stored-plan.ts';

const PLAN = {
  schemaVersion: 1,
  matrix: 'm',
  tensorrt: '10.6',
  seed: 1,
  repeats: 3,
  cells: [],
  builds: [],
  runs: [],
  notes: [],
};
const PROGRAM = { trtexec: null, replayFolder: null };

test('a plan of a time without a gate has none, and the default space for last good engines', () => {
  const stored = readStoredPlan(JSON.stringify({ plan: PLAN, program: PROGRAM }));
  expect([stored?.gate, stored?.keptLastGoodBytes]).toEqual([NO_GATE, 10e9]);
});

test('a program is no part of it', () => {
  const gate = { ...NO_GATE, notify: ['rm', '-rf', '/'] };
  expect(readStoredPlan(JSON.stringify({ plan: PLAN, program: PROGRAM, gate }))?.gate).toEqual(NO_GATE);
});
