import { expect, test } from 'vitest';

import { CellWords } from '../../../src/judge/gate/cell-words.ts';
import { gateRules } from '../../../src/judge/gate/evidence.ts';
import { UNKNOWN_ENVIRONMENT } from '../../../src/records/environment.ts';
import { NO_GATE } from '../../../src/records/gated-metric.ts';
import { simulatedCells } from '../../support/simulated-store.ts';

const CELLS = simulatedCells(8);
const KEYS = CELLS.map(({ key }) => key);

/** @param gpus of each cell in the judged sweep; null where it was not measured */
function wordsOn(gpus: readonly (string | null)[]): CellWords {
  return new CellWords({
    sweeps: [],
    baseSweeps: null,
    cells: CELLS.map((cell, place) => ({
      cell,
      metrics: [],
      environmentIds: [gpus[place] ?? null],
      isPlanned: true,
      failures: [],
    })),
    environments: new Map(['GPU-a', 'GPU-b'].map((gpuUuid) => [gpuUuid, { ...UNKNOWN_ENVIRONMENT, gpuUuid }])),
    findings: [],
    acknowledged: new Map(),
    rules: gateRules(NO_GATE),
    pairs: null,
  });
}

test('cells share their GPU where others were measured on another one', () => {
  const words = wordsOn(['GPU-a', 'GPU-a', 'GPU-a', 'GPU-a', 'GPU-b', 'GPU-b', 'GPU-b', 'GPU-b']);
  expect(words.sharedBy(new Set(KEYS.slice(0, 4)))).toContain('GPU-a');
});

test('the only GPU is nothing that cells share: the others were not measured', () => {
  const words = wordsOn(['GPU-a', 'GPU-a', 'GPU-a', 'GPU-a', null, null, null, null]);
  expect(words.sharedBy(new Set(KEYS.slice(0, 4)))).not.toContain('GPU-a');
});
