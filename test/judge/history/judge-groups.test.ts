import { describe, expect, test } from 'vitest';

import {
  ALL_CELLS,
  type GroupMatrix,
  type GroupScenario,
  simulateGroups,
} from '../../../benchmarks/detection/simulate-groups.ts';
import { contrastShift } from '../../../src/judge/history/group-contrast.ts';
import { type GroupMemory, judgeGroups } from '../../../src/judge/history/judge-groups.ts';

const NOTHING_KNOWN: GroupMemory = { reported: [], machineChanged: false };
const SEEDS = Array.from({ length: 8 }, (_, seed) => seed + 1);

function matrix(seed: number, scenario: Partial<GroupScenario>): GroupMatrix {
  return simulateGroups({ cells: 200, sweeps: 63, changed: 'none', at: 60, rel: 0, ...scenario }, seed);
}

function judged({ cells, groups }: GroupMatrix, sweep: number, memory = NOTHING_KNOWN) {
  return judgeGroups(
    cells.map(({ values }) => ({ values, levels: [] })),
    groups,
    sweep,
    memory,
  );
}

describe('200 cells', () => {
  test('1 % in all FP8 cells is one group in its first sweep, and none of their models is another', () => {
    const first = SEEDS.map((seed) => judged(matrix(seed, { changed: 'fp8', rel: 0.01 }), 60).news);
    const found = first.filter((news) => news.length === 1 && news[0]?.group === 'fp8');
    expect(found.length).toBeGreaterThanOrEqual(7);
    for (const news of found) expect(news[0]?.changePercent).toBeCloseTo(1, 0);
  });

  test('3 % less in FP8: faster', () => {
    const { news } = judged(matrix(3, { changed: 'fp8', rel: -0.03 }), 60);
    expect(news.map(({ group, sweep, sweeps }) => ({ group, sweep, sweeps }))).toEqual([
      { group: 'fp8', sweep: 60, sweeps: 1 },
    ]);
    expect(news[0]?.changePercent).toBeCloseTo(-3, 0);
  });

  test('3 % in all cells: in its first sweep when the machine changed, else in its second', () => {
    for (const seed of SEEDS) {
      const slower = matrix(seed, { changed: 'all', rel: 0.03 });
      const groupsIn = (sweep: number, machineChanged: boolean) =>
        judged(slower, sweep, { reported: [], machineChanged }).news.map(({ group }) => group);
      expect(groupsIn(60, true)).toEqual([ALL_CELLS]);
      expect(groupsIn(60, false)).toEqual([]);
      expect(groupsIn(61, false)).toEqual([ALL_CELLS]);
    }
  });

  test('first looked at in its third sweep, it began in its first', () => {
    for (const seed of SEEDS) {
      const { news } = judged(matrix(seed, { changed: 'all', rel: 0.03 }), 62, { reported: [], machineChanged: false });
      expect(news.map(({ group, sweep, sweeps }) => [group, sweep, sweeps])).toEqual([[ALL_CELLS, 60, 3]]);
    }
  });

  test('what is reported explains its part: nothing more is said of it', () => {
    const slower = matrix(4, { changed: 'fp8', rel: 0.03 });
    const fp8 = slower.groups.get('fp8') ?? [];
    expect(judged(slower, 61).news.map(({ group, sweep }) => ({ group, sweep }))).toEqual([
      { group: 'fp8', sweep: 60 },
    ]);
    expect(judged(slower, 61, { reported: [{ cells: fp8, sweep: 60 }], machineChanged: false })).toEqual({
      news: [],
      suspected: [],
    });
  });

  test('no change: no group in 3,000 mornings of a group', () => {
    let mornings = 0;
    for (const seed of SEEDS.slice(0, 5)) {
      const quiet = matrix(seed + 100, {});
      for (let sweep = 33; sweep < 63; sweep += 1) {
        expect(judged(quiet, sweep).news).toEqual([]);
        mornings += quiet.groups.size;
      }
    }
    expect(mornings).toBeGreaterThan(3000);
  });
});

describe('a few cells', () => {
  /** Ten cells: four of `fp8`, and from the last sweep on they take 5 % more. */
  const cells = Array.from({ length: 10 }, (_, cell) => ({
    values: Array.from({ length: 41 }, (__, sweep) => {
      const noise = 1 + (((cell * 7 + sweep * 5) % 11) - 5) / 5000;
      return sweep < 40 && sweep % 13 === cell ? null : noise * (cell < 4 && sweep === 40 ? 1.05 : 1);
    }),
    levels: [],
  }));

  test('sweeps without a value are left out; three cells are no group', () => {
    const groups = new Map([
      ['fp8', [0, 1, 2, 3]],
      ['small', [0, 2, 3]],
    ]);
    const { news } = judgeGroups(cells, groups, 40, NOTHING_KNOWN);
    expect(news.map(({ group, cells: members }) => ({ group, members }))).toEqual([
      { group: 'fp8', members: [0, 1, 2, 3] },
    ]);
  });

  test('a change that a cell knows of is part of its level', () => {
    const stepped = cells.map(({ values }, cell) => ({
      values: values.map((value, sweep) => (value === null ? null : value * (cell < 4 && sweep >= 20 ? 1.2 : 1))),
      levels: cell < 4 ? [20] : [],
    }));
    const groups = new Map([['fp8', [0, 1, 2, 3]]]);
    const { news } = judgeGroups(stepped, groups, 40, NOTHING_KNOWN);
    expect(news).toHaveLength(1);
    expect(news[0]?.changePercent).toBeCloseTo(5, 0);
  });
});

test('deviations are those of the median and 1.4826 times the median absolute deviation', () => {
  // numpy: past = [0, .001, -.001] * 10; median 0; mad .001, sigma .0014826
  const past = Array.from({ length: 30 }, (_, place) => [0, 0.001, -0.001][place % 3] ?? 0);
  const shift = contrastShift(Float64Array.from([...past, 0.01]), 'contrast');
  expect(shift).toMatchObject({ sweeps: 1, isClear: true });
  expect(shift?.deviations).toBeCloseTo(0.01 / 0.0014826, 6);
  expect(contrastShift(Float64Array.from([...past, 0.008]), 'contrast')?.isClear).toBe(false);
  expect(contrastShift(Float64Array.from([...past, 0.001]), 'contrast')).toBeNull();
});
