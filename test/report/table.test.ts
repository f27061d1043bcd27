import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { makeLook } from '../../src/report/look.ts';
import { type Column, renderTable } from '../../src/report/table.ts';
import { textWidth, truncate } from '../../src/report/text-width.ts';

interface Row {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { header: 'name', text: ({ name }) => name, minWidth: 6 },
  { header: 'value', text: ({ value }) => value, align: 'right' },
  { header: 'note', text: ({ note }) => note, dropRank: 1 },
];
const ROWS = [
  { name: 'a', value: '1.5 ms', note: 'first' },
  { name: 'a longer name', value: '12.5 ms', note: '' },
];

describe('a table', () => {
  test('aligned, without trailing spaces', () => {
    expect(renderTable(COLUMNS, ROWS, makeLook(80, false))).toEqual([
      'name             value  note',
      'a               1.5 ms  first',
      'a longer name  12.5 ms',
    ]);
  });

  test('cuts names, then drops what matters least', () => {
    expect(renderTable(COLUMNS, ROWS, makeLook(24, false))).toEqual([
      'name        value  note',
      'a          1.5 ms  first',
      'a longe…  12.5 ms',
    ]);
    expect(renderTable(COLUMNS, ROWS, makeLook(18, false))).toEqual([
      'name         value',
      'a           1.5 ms',
      'a longer…  12.5 ms',
    ]);
  });

  test('a header gives way before a text does', () => {
    const columns: Column<Row>[] = [
      { header: 'a long header', text: ({ value }) => value, minWidth: 4 },
      { header: 'n', text: ({ name }) => name, minWidth: 4 },
    ];
    expect(renderTable(columns, ROWS, makeLook(24, false))[2]).toBe('12.5 ms    a longer name');
  });

  test('a column in which every row is empty is left out', () => {
    const rows = ROWS.map((row) => ({ ...row, note: '' }));
    expect(renderTable(COLUMNS, rows, makeLook(80, false))[0]).not.toContain('note');
  });

  test('wide characters count as two columns', () => {
    const rows = [
      { name: '模型', value: '1', note: 'x' },
      { name: '😀', value: '2', note: 'y' },
      { name: 'e\u0301', value: '3', note: 'z' },
    ];
    const lines = renderTable(COLUMNS, rows, makeLook(80, false));
    expect(new Set(lines.map(textWidth)).size).toBe(2);
    expect(lines.slice(1).map(textWidth)).toEqual([14, 14, 14]);
  });

  test('never wider than the terminal, from 60 to 200 columns', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 60 });
    fc.assert(
      fc.property(
        fc.array(fc.record({ name: text, value: fc.stringMatching(/^\d{1,8}$/), note: text }), {
          minLength: 1,
          maxLength: 5,
        }),
        fc.integer({ min: 60, max: 200 }),
        (rows, columns) => {
          for (const line of renderTable(COLUMNS, rows, makeLook(columns, false))) {
            expect(textWidth(line)).toBeLessThanOrEqual(columns);
          }
        },
      ),
    );
  });
});

test('cutting keeps whole characters', () => {
  expect(truncate('hello', 5)).toBe('hello');
  expect(truncate('hello!', 5)).toBe('hell…');
  expect(truncate('👩‍👩‍👧 family', 4)).toBe('👩‍👩‍👧 …');
  expect(truncate('模型模型', 4)).toBe('模…');
});
