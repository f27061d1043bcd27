import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { compareCells, type TwoSides } from '../../../src/judge/compare/compare-cells.ts';
import { buildDifferences, environmentDifferences, machineKey } from '../../../src/judge/compare/differences.ts';
import { type Environment, UNKNOWN_ENVIRONMENT } from '../../../src/records/environment.ts';

function cell(cellKey: string, base: readonly number[], head: readonly number[]): TwoSides {
  return { cellKey, base, head, betterIs: 'lower' };
}

/** Runs around a level, each apart by the given share: no random numbers. */
const runs = (level: number, apart: number, count: number): number[] =>
  Array.from({ length: count }, (_, i) => level * (1 + apart * (i - (count - 1) / 2)));

// Recorded: vit_small in FP16 at batch 8, five runs of the engine tuned for batch 8 and for 32 (medians, ms).
const OPT8 = [0.410522, 0.412109, 0.412079, 0.411865, 0.411774];
const OPT32 = [0.476135, 0.477386, 0.477356, 0.477356, 0.477814];

test('a real regression is called with its size inside the interval', () => {
  const [verdict] = compareCells([cell('vit', OPT8, OPT32)]).cells;
  expect(verdict).toMatchObject({ verdict: 'slower', changePercent: expect.closeTo(15.9, 0) });
  const [low, high] = verdict?.ciPercent ?? [0, 0];
  // The README of the recordings gives 1.1590, pair by pair 1.1582 to 1.1601.
  expect(low).toBeLessThan(15.9);
  expect(high).toBeGreaterThan(15.9);
  expect(verdict?.mdePercent).toBeLessThan(1);
  expect(verdict?.moreRunsNeeded).toBeNull();
});

test('a run 60 % slower than the others of its side is left out, and named', () => {
  const head = [...OPT8.slice(1), 1.6 * 0.410522];
  const { cells } = compareCells([cell('wild', OPT8, head), cell('calm', OPT8, OPT8)]);
  expect(cells).toMatchObject([
    { verdict: 'same', runs: [5, 4], reasons: ['farRun'] },
    { verdict: 'same', runs: [5, 5], reasons: [] },
  ]);
});

test('swapping the sides turns slower into faster, and the interval with it', () => {
  const [slower] = compareCells([cell('vit', OPT8, OPT32)]).cells;
  const [faster] = compareCells([cell('vit', OPT32, OPT8)]).cells;
  expect(faster?.verdict).toBe('faster');
  expect(1 + (faster?.changePercent ?? 0) / 100).toBeCloseTo(1 / (1 + (slower?.changePercent ?? 0) / 100), 12);
});

test('one run a side is never a verdict, however large the difference', () => {
  const { cells } = compareCells([cell('a', [1], [2]), cell('b', [1, 1.001, 0.999], [3])]);
  expect(cells.map(({ verdict }) => verdict)).toEqual(['unclear', 'unclear']);
  for (const { mdePercent, moreRunsNeeded, reasons } of cells) {
    expect(mdePercent).toBeGreaterThan(0);
    expect(moreRunsNeeded).toBeGreaterThanOrEqual(1);
    expect(reasons[0]).toMatch(/^no verdict: one run (per|on one) side$/);
  }
});

test('without any repeats the noise comes from how much cells differ', () => {
  const { cells } = compareCells(Array.from({ length: 20 }, (_, i) => cell(`c${i}`, [1], [1 + (i - 9.5) / 1000])));
  expect(new Set(cells.map(({ verdict }) => verdict))).toEqual(new Set(['unclear']));
  // 90 % of the differences are within .85 %, so one run scatters by .37 %.
  expect(cells[0]?.noise).toMatchObject({ from: 'otherCells' });
  expect([cells[0]?.noise?.runPercent, cells[0]?.ciPercent]).toEqual([expect.closeTo(0.37, 2), null]);
  const [alone] = compareCells([cell('alone', [1], [1.001])]).cells;
  expect(alone?.reasons).toContain('noise assumed to be 1 %, because it is unknown');
  expect(alone?.noise).toMatchObject({ from: 'assumed', nights: 0 });
});

test('without repeats cells with a graph and without have each the noise of their kind', () => {
  const steady = Array.from({ length: 8 }, (_, i) => ({
    ...cell(`graph${i}`, [1], [1 + (i - 3.5) / 10_000]),
    kind: 'graph',
  }));
  const restless = Array.from({ length: 8 }, (_, i) => ({
    ...cell(`host${i}`, [1], [1 + (i - 3.5) / 500]),
    kind: 'noGraph',
  }));
  const noises = compareCells([...steady, ...restless]).cells.map(({ noise }) => noise?.runPercent ?? 0);
  expect(Math.max(...noises.slice(0, 8))).toBeLessThan(0.02);
  expect(Math.min(...noises.slice(8))).toBeGreaterThan(0.25);
});

test('a single run on one side has no interval; its size does not change what would be detectable', () => {
  // Recorded: the numbers contradicted the word, +3.8 % (+3.7 … +3.9 %), "could hide 0.13 %".
  const [row] = compareCells([cell('vit', runs(1, 0.0003, 5), [1.038])]).cells;
  expect(row).toMatchObject({ verdict: 'unclear', ciPercent: null });
  expect(row?.mdePercent).toBeCloseTo(0.567, 3);
});

test('quiet cells without a change are the same, noisy ones are unclear and say what they hide', () => {
  expect(compareCells([cell('quiet', runs(1, 0.0005, 5), runs(1.0004, 0.0005, 5))]).cells[0]?.verdict).toBe('same');
  const noisy = compareCells([cell('noisy', runs(1, 0.02, 3), runs(1.01, 0.02, 3))]).cells[0];
  expect(noisy?.verdict).toBe('unclear');
  expect(noisy?.mdePercent).toBeGreaterThan(2);
  expect(noisy?.moreRunsNeeded).toBeGreaterThan(3);
});

test('the number of runs that is asked for settles the cell', () => {
  const count = 3 + (compareCells([cell('c', runs(1, 0.01, 3), runs(1.001, 0.01, 3))]).cells[0]?.moreRunsNeeded ?? 0);
  // More runs of the same variance: stretch them to the same standard deviation.
  const apart = (sd: number, n: number): number => sd / Math.sqrt((n * (n + 1)) / 12);
  const base = runs(1, apart(0.01, count), count);
  const [after] = compareCells([cell('c', base, runs(1.001, apart(0.01, count), count))]).cells;
  expect(after?.verdict).toBe('same');
  // The variance was taken so large that it holds four times in five: less would not have been half as good.
  expect(after?.mdePercent).toBeGreaterThan(1);
});

describe('a change that cells share', () => {
  /** @param changes one cell each, in percent */
  const matrix = (changes: readonly number[]): TwoSides[] =>
    changes.map((percent, i) => cell(`c${i}`, runs(1 + i, 0.001, 4), runs((1 + i) * (1 + percent / 100), 0.0012, 4)));
  const filled = (count: number, percent: number): number[] => Array.from({ length: count }, () => percent);

  test('of all cells is one finding, and each cell is judged without it', () => {
    const { cells, shift } = compareCells(matrix([10, ...filled(11, 3)]));
    expect(shift?.percent).toBeCloseTo(3, 3);
    expect(shift).toMatchObject({ cells: 12, sharing: 11, verdict: 'slower', recorded: [] });
    expect(cells[0]).toMatchObject({ verdict: 'slower', reasons: ['unlikeShift'] });
    for (const row of cells.slice(1)) expect(row).toMatchObject({ verdict: 'same', reasons: ['commonShift'] });
    expect(cells[1]?.changePercent).toBeCloseTo(3, 3);
  });

  test('never makes a call of a direction that the change as it is does not have', () => {
    const { cells } = compareCells(matrix([1, -3, ...filled(20, 3)]));
    expect(cells[0]).toMatchObject({ verdict: 'same', reasons: ['unlikeShift'] });
    expect(cells[1]).toMatchObject({ verdict: 'faster', reasons: ['unlikeShift'] });
    expect(cells[1]?.changePercent).toBeCloseTo(-3, 3);
  });

  test('is none where unchanged cells are only too noisy to be told from it', () => {
    const noisy = [...filled(7, 4), ...filled(5, 0)].map((percent, i) =>
      cell(`c${i}`, runs(1, 0.02, 5), runs(1 + percent / 100, 0.02, 5)),
    );
    const { cells, shift } = compareCells(noisy);
    expect(shift).toBeNull();
    expect(cells.flatMap(({ reasons }) => reasons)).not.toContain('commonShift');
  });

  test('of throughput is slower where it falls', () => {
    const { shift } = compareCells(matrix(filled(12, -3)).map((one) => ({ ...one, betterIs: 'higher' })));
    expect(shift).toMatchObject({ percent: expect.closeTo(-3, 3), verdict: 'slower' });
  });
});

test('what is smaller than half a percent, and there, is neither called nor the same', () => {
  const [row] = compareCells([cell('c', runs(1, 0.0002, 5), runs(1.003, 0.0002, 5))]).cells;
  expect(row?.ciPercent?.[0]).toBeGreaterThan(0);
  expect([row, row?.reasons[0]]).toMatchObject([{ verdict: 'unclear', moreRunsNeeded: null }, 'smallChange']);
});

test('cells that can never be called make no room for others', () => {
  const small = Array.from({ length: 30 }, (_, i) => ({
    ...cell(`small${i}`, runs(1, 0.0001, 5), runs(i % 2 === 0 ? 1.004 : 0.996, 0.0001, 5)),
    kind: 'graph',
  }));
  const noisy = Array.from({ length: 10 }, (_, i) => ({
    // 2.7 errors in one of ten, none in the others.
    ...cell(`noisy${i}`, runs(1, 0.0063, 5), runs(i === 0 ? 1.017 : 1, 0.0063, 5)),
    kind: 'noGraph',
  }));
  const { cells } = compareCells([...small, ...noisy]);
  expect(cells[30]?.ciPercent?.[0]).toBeGreaterThan(0);
  expect([cells[30], cells[30]?.reasons[0]]).toMatchObject([{ verdict: 'unclear' }, 'notSureEnough']);
});

describe('an unclear row says why', () => {
  test('where its interval excludes 0', () => {
    const [row] = compareCells([cell('c', [1, 1.02, 0.98], [1.045, 1.065, 1.03])]).cells;
    expect(row?.ciPercent?.[0]).toBeGreaterThan(0);
    expect([row?.verdict, row?.reasons[0]]).toEqual(['unclear', 'notSureEnough']);
  });

  test('where nights differ by more than runs can settle', () => {
    const restless = Array.from({ length: 24 }, (_, i) =>
      cell(`c${i}`, runs(1, 0.0005, 5), runs(1 + 0.003 * ((i % 5) - 2), 0.0005, 5)),
    );
    const { cells } = compareCells(restless);
    expect(cells[0]).toMatchObject({ verdict: 'unclear', moreRunsNeeded: null });
    expect(cells[0]?.reasons).toContain('notByRuns');
  });
});

describe('earlier nights', () => {
  const sides = (past: readonly number[]): TwoSides => ({
    ...cell('c', runs(1, 0.002, 3), runs(1.08, 0.002, 3)),
    past,
  });
  const quiet = Array.from({ length: 24 }, (_, night) => 1 + 0.004 * ((night % 5) / 4 - 0.5));

  test('one wild night among them does not hide a change', () => {
    const [row] = compareCells([sides(quiet.with(2, 1.35))]).cells;
    const [without] = compareCells([sides(quiet.toSpliced(2, 1))]).cells;
    expect(row?.verdict).toBe('slower');
    expect((row?.mdePercent ?? 0) / (without?.mdePercent ?? 1)).toBeCloseTo(1, 1);
    expect(row?.noise).toMatchObject({ from: 'runsAndNights', nights: 24 });
  });

  test('an excursion of three nights in 24 counts little, a state that comes again and again stays', () => {
    const excursion = quiet.map((value, night) => (night >= 3 && night < 6 ? 1.08 : value));
    expect(compareCells([sides(excursion)]).cells[0]?.noise?.runPercent).toBeLessThan(0.4);
    const [row] = compareCells([sides(quiet.map((value, night) => (night % 6 === 0 ? 1.03 : value)))]).cells;
    expect(row?.noise).toMatchObject({ nights: 24 });
    expect(row?.noise?.runPercent).toBeGreaterThan(0.7);
  });

  test('weigh no more than the runs in hand, however wild all of them are', () => {
    const [row] = compareCells([sides(quiet.map((_, night) => 1 + 0.1 * ((night % 5) / 4 - 0.5)))]).cells;
    // Runs of .2 % with four degrees of freedom, nights of 4.4 % (two quantiles, 9.1 % apart, over 2.07) with the weight of six runs.
    expect((row?.noise?.runPercent ?? 0) / Math.sqrt((4 * 0.2 ** 2 + 6 * 4.4 ** 2) / 10)).toBeCloseTo(1, 1);
  });
});

test('runs that are equal to the last digit do not divide by zero', () => {
  const { cells } = compareCells([cell('equal', [1, 1, 1], [1, 1, 1])]);
  expect([cells[0]?.verdict, Number.isFinite(cells[0]?.mdePercent)]).toEqual(['same', true]);
});

describe('properties', () => {
  const side = fc.array(fc.double({ min: 0.9, max: 1.1, noNaN: true }), { minLength: 2, maxLength: 6 });

  test('the order of runs and of cells does not matter', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(side, side), { minLength: 2, maxLength: 8 }), (sides) => {
        const cells = sides.map(([base, head], i) => cell(`c${i}`, base, head));
        const turned = cells.map((one) => ({ ...one, base: one.base.toReversed() })).toReversed();
        const byKey = new Map(compareCells(turned).cells.map((one) => [one.cellKey, one]));
        for (const one of compareCells(cells).cells) {
          expect(byKey.get(one.cellKey)?.verdict).toBe(one.verdict);
          expect(byKey.get(one.cellKey)?.mdePercent).toBeCloseTo(one.mdePercent ?? Number.NaN, 8);
        }
      }),
    );
  });
});

const H200: Environment = {
  ...UNKNOWN_ENVIRONMENT,
  gpuName: 'NVIDIA H200',
  driver: '580.159.04',
  tensorrt: '10.6.0',
  tensorrtLibrary: '10.6.0.26',
  clockPolicy: 'floating',
  powerLimitW: 700,
  ecc: 'on',
  mig: 'off',
  persistence: 'on',
};

describe('what of the machine is another', () => {
  test.each<[Partial<Environment>, string[]]>([
    [{}, []],
    [{ clockPolicy: 'locked 1590 MHz' }, ['clocks floating → locked 1590 MHz']],
    [{ powerLimitW: 600 }, ['power limit 700 W → 600 W']],
    [{ ecc: 'off', mig: 'on' }, ['ECC on → off', 'MIG off → on']],
    [{ persistence: 'off' }, ['persistence mode on → off']],
    [{ tensorrtLibrary: '10.6.0.99' }, ['TensorRT library 10.6.0.26 → 10.6.0.99']],
    [{ driver: '570.1', container: 'a:1' }, ['driver 580.159.04 → 570.1']],
    [{ powerLimitW: null, ecc: null, clockPolicy: null }, []],
  ])('%j', (change, expected) => expect(environmentDifferences(H200, { ...H200, ...change })).toEqual(expected));

  test('a build that only TensorRT 10 calls strongly typed has the same options in 11', () => {
    const [ten, eleven] = [['--stronglyTyped', '--fp16'], ['--best']].map((flags) => ({ modelSha256: null, flags }));
    expect(buildDifferences(ten ?? null, eleven ?? null)).toEqual(['build: --fp16 → --best']);
  });

  test('another history begins with another GPU, TensorRT major or lock, not with another driver', () => {
    const key = machineKey(H200);
    const changed = (change: Partial<Environment>): boolean => machineKey({ ...H200, ...change }) !== key;
    expect([
      changed({ driver: '570.1', powerLimitW: 600 }),
      changed({ tensorrt: '10.9.0' }),
      changed({ clockPolicy: null }),
      changed({ clockPolicy: 'locked base' }),
      changed({ tensorrt: '11.0.0' }),
      changed({ gpuName: 'NVIDIA H100' }),
    ]).toEqual([false, false, false, true, true, true]);
  });
});
