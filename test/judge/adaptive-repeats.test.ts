import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { undecided } from '../../src/judge/adaptive-repeats.ts';
import { compareCells } from '../../src/judge/compare/compare-cells.ts';
import { alphaSpent } from '../../src/statistics/p-values.ts';
import { imageCell } from '../support/image-cell.ts';
import { NO_VALUES } from '../support/no-values.ts';
import { normals } from '../support/simulated-store.ts';

type Values = readonly number[];
type Sides = ReturnType<typeof cell> & { readonly past?: Values };

function cell(cellKey: string, base: Values, head: Values) {
  return { cellKey, base, head, betterIs: 'lower' as const, roundS: 1 };
}

const RUN = {
  role: 'timed',
  repeat: 1,
  centres: {},
  outcome: { kind: 'measured', reason: null, evidence: [] },
} as const;

function cellsToRepeat(sides: readonly Sides[], look: number, goal: { percent: number; deviations: number }) {
  const runsOf = (values: Values) => values.map((ms) => ({ ...RUN, values: { ...NO_VALUES, gpuComputeMs: ms } }));
  const cells = sides.map(({ base, cellKey, head, ...rest }) => {
    const own = imageCell({ model: cellKey, precision: 'fp16', batch: 1 });
    return { ...rest, cell: own, base: runsOf(base), head: runsOf(head), rounds: 0, capacity: Infinity, isOver: false };
  });
  const enough = { goal, repeats: 1 - look, maxRepeats: Infinity, metric: null };
  const { limited, open } = undecided(cells, enough, (key) => cells.find((one) => one.cell.key === key)?.past ?? []);
  return { open: open.map((one) => one.cell.model), limitedBySweeps: limited.map((one) => one.cell.model) };
}

const repeated = (...args: Parameters<typeof cellsToRepeat>) => cellsToRepeat(...args).open;

const QUIET = [1, 1.001, 0.999, 1, 1.0005];
const NOISY = [1, 1.04, 0.96, 1.02, 0.98];

describe('which cells get one more run', () => {
  const goal = { percent: 1, deviations: 0 };

  test('by deviations a noisy cell is asked for less', () =>
    expect(repeated([cell('a', NOISY, NOISY)], 1, { percent: 0.8, deviations: 4 })).toEqual([]));

  test('until compare says that a change of this size is detectable, with earlier nights or without', () => {
    const two = { ...goal, percent: 2 };
    const values = Array.from({ length: 60 }, normals(7)).map((normal) => Math.exp(0.01 * normal));
    const stopsAt = (more: Partial<Sides>): string => {
      const sides = (n: number) => [{ ...cell('a', values.slice(0, n), values.slice(20, 20 + n)), ...more }];
      const runs = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].find((n) => repeated(sides(n), n, two).length === 0) ?? 0;
      return `${runs} runs, ${compareCells(sides(runs)).cells[0]?.mdePercent?.toFixed(2)} %`;
    };
    expect([stopsAt({}), stopsAt({ past: values.slice(40) })]).toEqual(['11 runs, 1.90 %', '8 runs, 1.90 %']);
  });

  test('without a base: until another night as long could be compared', () => {
    expect([repeated([cell('a', [], QUIET)], 1, goal), repeated([cell('a', [], NOISY)], 1, goal)]).toEqual([[], ['a']]);
    expect(repeated([cell('a', [], [1])], 1, goal)).toEqual(['a']);
  });

  test('runs of cells without a base steady those with one, as there is one estimate of noise', () => {
    const few = cell('a', [1, 1.004], [1.001, 1.005]);
    const others = Array.from({ length: 8 }, (_, i) => cell(`b${i}`, [], [1, 1.003, 0.997, 1.001, 0.999]));
    const open = [[few], [few, ...others]].map((cells) => repeated(cells, 1, { percent: 1.3, deviations: 0 }));
    expect(open).toEqual([['a'], []]);
  });

  test('cells that nights limit are named and not repeated', () => {
    const normal = normals(12);
    const cells = Array.from({ length: 40 }, (_, i) => {
      const side = (): number[] => {
        const night = 0.003 * normal();
        return Array.from({ length: 5 }, () => Math.exp(night + 0.0005 * normal()));
      };
      return cell(`c${i}`, side(), side());
    });
    const { open, limitedBySweeps } = cellsToRepeat(cells, 1, { percent: 0.7, deviations: 0 });
    expect([open, limitedBySweeps.length > 30]).toEqual([[], true]);
    for (const { cellKey, ciPercent } of compareCells(cells).cells) {
      const reach = Math.max(...(ciPercent ?? []).map(Math.abs));
      expect([cellKey, limitedBySweeps.includes(cellKey)]).toEqual([cellKey, reach >= 0.7]);
    }
    expect(cellsToRepeat(cells, 1, { percent: 4, deviations: 0 })).toEqual({ open: [], limitedBySweeps: [] });
  });

  test('what gains most for its time comes first', () => {
    const wild = NOISY.map((value) => value ** 2);
    const slow = { ...cell('slow', NOISY, NOISY), roundS: 100 };
    expect(repeated([slow, cell('a', NOISY, NOISY), cell('b', wild, wild)], 1, goal)).toEqual(['b', 'a', 'slow']);
  });
});

test('the shares of all looks together are the whole', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), (looks) => {
      let sum = 0;
      for (let look = 1; look <= looks; look += 1) sum += alphaSpent(look);
      expect(sum).toBeCloseTo(0.03 * (1 - 1 / (looks + 1)), 12);
    }),
  );
});
