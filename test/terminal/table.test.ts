import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { makeLook } from '../../src/terminal/look.ts';
import { type Column, renderTable } from '../../src/terminal/table.ts';
import { textWidth } from '../../src/terminal/text-width.ts';

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
      'not shown at 18',
      '  columns: note',
    ]);
  });

  test('a sentence is cut at its end', () => {
    const columns: readonly Column<Row>[] = [
      { header: 'why', text: ({ note }) => note, minWidth: 6, isSentence: true },
    ];
    const rows = [{ name: 'a', value: '', note: 'another process was on the GPU' }];
    expect(renderTable(columns, rows, makeLook(20, false))).toEqual(['why', 'another process was…']);
  });

  test('a header gives way before a text does', () => {
    const columns: Column<Row>[] = [
      { header: 'a long header', text: ({ value }) => value, minWidth: 4 },
      { header: 'n', text: ({ name }) => name, minWidth: 4 },
    ];
    expect(renderTable(columns, ROWS, makeLook(24, false))[2]).toBe('12.5 ms    a longer name');
  });

  test('a text that wraps goes on in the next line, whole', () => {
    const columns: Column<Row>[] = COLUMNS.map((column) =>
      column.header === 'name' ? { ...column, wraps: true } : column,
    );
    expect(renderTable(columns, ROWS, makeLook(24, false))).toEqual([
      'name        value  note',
      'a          1.5 ms  first',
      'a longer  12.5 ms',
      'name',
    ]);
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

describe('names without room', () => {
  const namesAt = (columns: number, names: readonly string[]): string[] => {
    const rows = names.map((name) => ({ name, value: '1', note: '' }));
    return renderTable(COLUMNS, rows, makeLook(columns, false))
      .slice(1)
      .map((line) => line.replace(/ +1$/, ''));
  };

  test.each([
    ['at the end', ['resnet50.fp16', 'vit_small.fp16'], ['resne…', 'vit_s…']],
    ['in the middle', ['resnet50.b1', 'resnet50.b8', 'vit_small.b1'], ['res….b1', 'res….b8', 'vit….b1']],
    [
      'at the beginning',
      ['trtexec/pairs/opt32/b1.graph1', 'trtexec/pairs/opt32/b8.graph1'],
      ['…b1.graph1', '…b8.graph1'],
    ],
  ])('are cut %s, where they differ least', (_, names, cut) => {
    const width = Math.max(...cut.map(textWidth));
    expect(namesAt(width + 7, names)).toEqual(cut);
  });
});

test('a header with a short form gives way: no line is wider than the terminal', () => {
  const columns: Column<Row>[] = [
    { header: 'value', text: ({ value }) => value },
    { header: 'last 12 sweeps, ±7 %', short: '±7 %', text: ({ name }) => name },
  ];
  expect(renderTable(columns, ROWS, makeLook(22, false))).toEqual([
    'value    ±7 %',
    '1.5 ms   a',
    '12.5 ms  a longer name',
  ]);
});

describe('a narrow terminal', () => {
  interface Cell {
    readonly key: string;
    readonly name: string;
    readonly ms: string;
    readonly qps: string;
  }
  const columns: Column<Cell>[] = [
    { header: 'cell', text: ({ key }) => key, onlyIfAmbiguous: true },
    { header: 'options', text: ({ name }) => name, minWidth: 8, isIdentity: true },
    { header: 'median', text: ({ ms }) => ms },
    { header: 'qps', text: ({ qps }) => qps, dropRank: 2 },
    { header: 'p99', text: ({ qps }) => qps, dropRank: 3 },
  ];
  const rows = [
    { key: '8880ae78', name: 'graph transfers', ms: '0.04071', qps: '24563' },
    { key: '0c92a3ad', name: 'graph transfers streams=2', ms: '0.04620', qps: '43290' },
  ];

  test('two rows never read the same: where they would, the key stands before them', () => {
    const alike = rows.map((row, place) => ({ ...row, name: `graph transfers streams=${place + 1}` }));
    const cut = renderTable(columns, alike, makeLook(28, false));
    expect(cut.slice(1, 3).map((line) => line.slice(0, 18))).toEqual(['8880ae78  grap…ms=', '0c92a3ad  grap…ms=']);
    const same = [rows[0], rows[0]].filter((row) => row !== undefined);
    expect(renderTable(columns, same, makeLook(28, false))[0]).toMatch(/^options/);
  });
});
