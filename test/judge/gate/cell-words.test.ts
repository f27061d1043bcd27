import { expect, test } from 'vitest';

import { cellWords } from '../../../src/judge/gate/cell-words.ts';
import { gateRules } from '../../../src/judge/gate/evidence.ts';
import { NO_GATE } from '../../../src/records/gated-metric.ts';
import { simulatedCells } from '../../support/simulated-store.ts';
import { UNKNOWN_ENVIRONMENT } from '../../../src/records/environment.ts';

const CELLS = simulatedCells(8);
const KEYS = CELLS.map(({ key }) => key);

/** @param gpus of each cell in the judged sweep; null where it was not measured */
function wordsOn(gpus: readonly (string | null)[]): ReturnType<typeof cellWords> {
  return cellWords({
    sweeps: [],
    isPullRequest: false,
    cells: CELLS.map((cell, place) => {
      return { cell, metrics: [], environmentIds: [gpus[place] ?? null], isPlanned: true, failures: [] };
    }),
    environments: new Map(['GPU-a', 'GPU-b'].map((gpuUuid) => [gpuUuid, { ...UNKNOWN_ENVIRONMENT, gpuUuid }])),
    findings: [],
    acknowledged: new Map(),
    rules: gateRules(NO_GATE),
    pairs: null,
  });
}

test.each([
  ['are on another one', 'GPU-b', true],
  ['were not measured', null, false],
])('where the others %s, whether four cells share their GPU', (_, others, isShared) => {
  const words = wordsOn(KEYS.map((_key, place) => (place < 4 ? 'GPU-a' : others)));
  expect(words.sharedBy(new Set(KEYS.slice(0, 4))).includes('GPU-a')).toBe(isShared);
});
