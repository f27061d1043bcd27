import { expect, test } from 'vitest';

import { geometricMeans } from '../../../src/features/compare/compare.ts';
import { geometricMeanLines } from '../../../src/features/compare/text.ts';
import type { CellRatio } from '../../../src/judge/geometric-mean.ts';
import { NO_SHARED_NOISE } from '../../../src/judge/geometric-mean.ts';
import type { JudgedCell } from '../../../src/judge/compare/compare-matrix.ts';
import { makeLook } from '../../../src/terminal/look.ts';
import { simulatedCells } from '../../support/simulated-store.ts';

const CELLS = simulatedCells(4).map((cell): JudgedCell => ({
  cell,
  metric: 'gpuComputeMs',
  values: null,
  comparison: {
    cellKey: cell.key,
    verdict: 'unclear',
    base: 1,
    head: 1,
    changePercent: 0,
    ciPercent: null,
    mdePercent: null,
    runs: [3, 3],
    moreRunsNeeded: null,
    noise: null,
    reasons: [],
  },
}));

/** Of fp16 +2 %, of fp8 -1 % in one cell; the last one failed. */
const RATIOS = new Map(
  CELLS.slice(0, 3).map(({ cell }): [string, CellRatio] => [
    cell.key,
    { logRatio: Math.log(cell.precision === 'fp16' ? 1.02 : 0.99), noise: { variance: 1e-6, degrees: 1e6 } },
  ]),
);

test('over all cells and by precision; one model is no group', () => {
  const means = geometricMeans(CELLS, RATIOS, NO_SHARED_NOISE);
  expect(means.map(({ by, name, cells, leftOut }) => ({ by, name, cells, leftOut }))).toEqual([
    { by: 'all', name: null, cells: 3, leftOut: 1 },
    { by: 'precision', name: 'fp16', cells: 2, leftOut: 0 },
    { by: 'precision', name: 'fp8', cells: 1, leftOut: 1 },
  ]);
  // (1.02 * 1.02 * 0.99)^(1/3); 1.96 * 0.1 % / sqrt(3)
  expect(geometricMeanLines(means, makeLook(80, false))).toEqual([
    'geometric mean +0.99 % (0.9 to 1.1), 3 cells, 1 left out',
    '  by precision: fp16 +2.0 % (1.9 to 2.1), fp8 -1.0 % (-1.2 to -0.8)',
  ]);
  // That of one cell is the cell.
  const one = geometricMeans(CELLS.slice(0, 1), RATIOS, NO_SHARED_NOISE);
  expect(geometricMeanLines(one, makeLook(80, false))).toEqual([]);
});
