import { describe, expect, test } from 'vitest';

import { nextRound, pairedCell, type PairedCell } from '../../../src/features/compare/run/turns.ts';
import { enoughOf } from '../../../src/features/compare/run/compare-run.ts';
import { seededRandom } from '../../../src/matrix/plan/order.ts';
import { makeLook } from '../../../src/terminal/look.ts';
import { geometricMeans } from '../../../src/features/compare/compare.ts';
import { geometricMeanLines } from '../../../src/features/compare/text.ts';
import { type CellRatio, NO_SHARED_NOISE } from '../../../src/judge/geometric-mean.ts';
import type { JudgedCell } from '../../../src/judge/compare/compare-matrix.ts';
import { imageCell } from '../../support/image-cell.ts';
import { NO_VALUES } from '../../support/no-values.ts';
import { simulatedCells } from '../../support/simulated-store.ts';

type Runs = PairedCell['base'];

const ENOUGH = enoughOf({ repeats: 3, maxRepeats: 10, untilSure: 1 }, 3);

/** Measured runs with these GPU times; null for a run that failed. */
function runsOf(valuesMs: readonly (number | null)[]): Runs {
  return valuesMs.map((gpuComputeMs, index) => ({
    role: 'timed' as const,
    repeat: index + 1,
    centres: {},
    ...(gpuComputeMs === null
      ? { outcome: { kind: 'failed' as const, reason: 'unknown' as const, evidence: [] }, values: NO_VALUES }
      : { outcome: { kind: 'measured' as const, reason: null, evidence: [] }, values: { ...NO_VALUES, gpuComputeMs } }),
  }));
}

type Values = Parameters<typeof runsOf>[0];

const paired = (batch: number, base: Values, head: Values, capacity = Infinity): PairedCell =>
  pairedCell(imageCell({ model: 'vit', precision: 'fp16', batch }), runsOf(base), runsOf(head), capacity, 10);

const STEADY = [1, 1.001, 0.999];
const NOISY = [1, 1.03, 0.97];

describe('the next round', () => {
  test('first all cells get their repeats, on both sides: a round with one side counts as none', () => {
    const cells = [paired(1, STEADY, STEADY), paired(2, [1], []), paired(4, [], [])];
    expect(cells.map(({ rounds }) => rounds)).toEqual([3, 0, 0]);
    expect(nextRound(cells, ENOUGH)).toEqual([cells[1], cells[2]]);
  });

  test('then those in which a change of 1 % could still hide', () => {
    const [steady, noisy] = [paired(1, STEADY, STEADY), paired(2, NOISY, NOISY.toReversed())];
    expect(nextRound([steady, noisy], ENOUGH)).toEqual([noisy]);
  });

  test('not those that are decided', () => {
    expect(nextRound([paired(1, STEADY, [1.2, 1.201, 1.199])], ENOUGH)).toEqual([]);
  });

  test.each([
    ['at the maximum', paired(2, [...NOISY, ...NOISY], [...NOISY, ...NOISY]), 6],
    ['without recordings for it', paired(2, NOISY, NOISY, 3), 10],
    ['whose newest run failed', paired(2, [...NOISY, null], [...NOISY, 1]), 10],
    ['without a measurement', paired(2, [null, null, null], NOISY), 10],
  ])('not a cell %s', (_, cell, maxRepeats) => expect(nextRound([cell], { ...ENOUGH, maxRepeats })).toEqual([]));

  test('a metric of the build has one value: no rounds beyond the repeats', () => {
    expect(nextRound([paired(2, NOISY, NOISY)], enoughOf({ metric: 'engine-size' }, 3))).toEqual([]);
  });

  test('many cells: the scatter of few runs looks like that of nights, which both sides share: it is repeated', () => {
    const random = seededRandom(1);
    const gauss = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const runs = (change: number): number[] => [1, 2, 3].map(() => Math.exp(change + 0.01 * gauss()));
    const cells = Array.from({ length: 40 }, (_, index) => paired(index + 1, runs(0), runs(index < 8 ? 0.03 : 0)));
    expect(nextRound(cells, ENOUGH)).toHaveLength(40);
  });
});

const CELLS = simulatedCells(4).map((cell): JudgedCell => ({
  cell,
  metric: 'gpuComputeMs',
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
  expect(geometricMeanLines({ cells: [], geometricMeans: means }, makeLook(80, false))).toEqual([
    'geometric mean +0.99 % (0.9 to 1.1), 3 cells, 1 left out',
  ]);
  // That of one cell is the cell.
  const one = geometricMeans(CELLS.slice(0, 1), RATIOS, NO_SHARED_NOISE);
  expect(geometricMeanLines({ cells: [], geometricMeans: one }, makeLook(80, false))).toEqual([]);
});
