import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { columnValues, fromRunLengths, numberColumn, runLengths, TextTable } from '../../src/html/columns.ts';

describe('compact columns', () => {
  test('six digits of the largest value', () => {
    expect(numberColumn([0.443412345, null, 0.00012345])).toEqual({ decimals: 6, integers: [443412, null, 123] });
    expect(numberColumn([12_345_678])).toEqual({ decimals: 0, integers: [12_345_678] });
    expect(numberColumn([null, 0])).toEqual({ decimals: 0, integers: [null, 0] });
  });

  test('what comes back is within half a unit of the sixth digit', () => {
    const values = fc.array(fc.option(fc.double({ min: 1e-6, max: 1e6, noNaN: true }), { nil: null }));
    fc.assert(
      fc.property(values, (given) => {
        const largest = Math.max(0, ...given.map((value) => value ?? 0));
        const back = columnValues(numberColumn(given));
        return given.every((value, place) => {
          const found = back[place] ?? null;
          if (value === null || found === null) return value === found;
          return Math.abs(found - value) <= largest * 5.1e-6;
        });
      }),
    );
  });

  test('runs of equal values', () => {
    expect(runLengths([5, 5, 5, null, null, 0])).toEqual([3, 5, 2, null, 1, 0]);
    expect(runLengths([])).toEqual([]);
  });

  test('runs of equal values give the values back', () => {
    const values = fc.array(fc.option(fc.nat(2), { nil: null }));
    fc.assert(
      fc.property(values, (given) => {
        expect(fromRunLengths(runLengths(given))).toEqual(given);
      }),
    );
  });

  test('a text that repeats is kept once', () => {
    const table = new TextTable();
    expect(['a', 'b', 'a', ''].map((text) => table.placeOf(text))).toEqual([0, 1, 0, 2]);
    expect(table.texts).toEqual(['a', 'b', '']);
  });
});
