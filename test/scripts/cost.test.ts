import { describe, expect, test } from 'vitest';

import { drawMatrix } from '../../benchmarks/cost/draw.ts';
import { realChanges } from '../../benchmarks/cost/real-changes.ts';
import { readVisits } from '../../benchmarks/cost/real-runs.ts';
import { scoredCells } from '../../benchmarks/cost.ts';
import { Random } from '../../benchmarks/detection/random.ts';

const [h100, , slower] = readVisits();
if (h100 === undefined || slower === undefined) throw new Error('no runs');

describe('benchmarks/cost.ts', () => {
  test('no run is on two sides', () => {
    for (let seed = 0; seed < 22; seed += 1) {
      for (const { base, before, newest, pairsAfter } of drawMatrix(h100, new Random(seed), 1)) {
        const sides = [...before, ...base, ...newest];
        expect(new Set(sides).size).toBe(22);
        const paired = pairsAfter(3).flatMap((pair) => [pair.newest, pair.lastGood]);
        expect(new Set([...base.slice(-9), ...newest.slice(0, 3), ...paired]).size).toBe(22);
      }
    }
  });

  test('a change is a factor on the newest runs of no cell, of one, or of a model', () => {
    const changedIn = Array.from({ length: 12 }, (_, seed) => {
      const [plain = [], changed = []] = [1, 1.02].map((factor) => drawMatrix(h100, new Random(seed), factor));
      return changed.filter(({ base, isChanged, newest, pairsAfter }, place) => {
        const same = plain[place];
        expect(base).toEqual(same?.base);
        const [own, other] = [
          [...newest, ...pairsAfter(2).map((pair) => pair.newest)],
          [...(same?.newest ?? []), ...(same?.pairsAfter(2).map((pair) => pair.newest) ?? [])],
        ];
        expect(own.map(({ ms }) => ms)).toEqual(other.map(({ ms }) => (isChanged ? 1.02 : 1) * ms));
        return isChanged;
      }).length;
    });
    expect(new Set(changedIn)).toEqual(new Set([0, 1, 5]));
  });

  // The full figures: node benchmarks/cost.ts
  test('fixed repeats, --until-sure and pairs on the same matrices', () => {
    const { noisy, steady } = scoredCells(3, 1);
    const lines = [...steady, ...noisy].map(({ byPercent, changed, quiet, way }) => {
      const seconds = [quiet, changed].map(({ secondsACell }) => secondsACell.toFixed(2));
      return [way, ...seconds, ...[...byPercent.values()].map(({ f1 }) => f1.toFixed(2))].join(' ');
    });
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "--repeats 1, compare 0.85 0.85 0.00 0.00 0.00 0.00
      --repeats 2, compare 1.71 1.71 0.95 1.00 1.00 1.00
      --repeats 3, compare 2.59 2.56 1.00 1.00 1.00 1.00
      --repeats 5, compare 4.30 4.26 1.00 1.00 1.00 1.00
      --repeats 8, compare 6.91 6.83 1.00 1.00 1.00 1.00
      --repeats 10, compare 8.61 8.51 1.00 1.00 1.00 1.00
      --repeats 2 --until-sure 2, compare 1.71 1.72 0.95 1.00 1.00 1.00
      --repeats 2 --until-sure 1, compare 1.81 1.84 1.00 1.00 1.00 1.00
      --repeats 3 --until-sure 1, compare 2.59 2.56 1.00 1.00 1.00 1.00
      --repeats 2, check 1.71 1.71 1.00 1.00 1.00 1.00
      --repeats 3, check 2.59 2.56 1.00 1.00 1.00 1.00
      --repeats 5, check 4.30 4.26 1.00 1.00 1.00 1.00
      --repeats 2 --confirm, check 1.71 4.59 1.00 1.00 1.00 1.00
      --repeats 3 --confirm, check 2.59 5.44 1.00 1.00 1.00 1.00
      --repeats 1, compare 1.10 1.10 0.00 0.00 0.00 0.00
      --repeats 2, compare 2.19 2.16 0.00 0.00 0.67 0.67
      --repeats 3, compare 3.24 3.23 0.00 0.67 0.67 0.86
      --repeats 5, compare 5.41 5.42 0.00 0.67 0.86 0.86
      --repeats 8, compare 8.67 8.67 0.67 0.67 0.86 1.00
      --repeats 10, compare 10.82 10.81 0.67 0.86 0.86 1.00
      --repeats 2 --until-sure 2, compare 10.46 7.85 0.40 0.86 1.00 1.00
      --repeats 2 --until-sure 1, compare 11.04 11.33 0.40 0.86 1.00 1.00
      --repeats 3 --until-sure 1, compare 11.17 11.46 0.40 0.86 1.00 1.00
      --repeats 2, check 2.19 2.16 0.00 0.00 0.33 0.75
      --repeats 3, check 3.24 3.23 0.00 0.00 0.00 0.67
      --repeats 5, check 5.41 5.42 0.00 0.00 0.40 1.00
      --repeats 2 --confirm, check 2.19 3.67 0.00 0.40 0.40 0.86
      --repeats 3 --confirm, check 3.24 4.25 0.00 0.00 0.67 0.67"
    `);
  });

  test('models that were really slower', () => {
    expect(
      realChanges(slower).map(({ found, falseCalls, percent, replaced, way }) => {
        return [way, ...percent.map((one) => Number(one.toFixed(2))), found, replaced, falseCalls];
      }),
    ).toEqual([
      ['--repeats 2, compare', 1.46, 2.42, 5, 5, 0],
      ['--repeats 2, check', 1.46, 2.42, 5, 5, 0],
      ['--repeats 2 --confirm, check', 1.46, 2.42, 5, 5, 0],
      ['--repeats 2, compare', 3.85, 4.76, 5, 5, 0],
      ['--repeats 2, check', 3.85, 4.76, 5, 5, 0],
    ]);
  });
});
