import * as fc from 'fast-check';
import stringWidth from 'string-width';
import { expect, test } from 'vitest';

import { makeLook, textWidth } from '../../src/terminal/look.ts';
import { machineLines } from '../../src/terminal/machine-text.ts';
import { type Column, numberColumn, renderTable } from '../../src/terminal/table.ts';

type Row = { readonly name: string; readonly value: string; readonly note: string };

const row = (name: string, value = '1', note = ''): Row => ({ name, value, note });
const ROWS = [row('a', '1.5 ms', 'first'), row('a longer name', '12.5 ms')];
const [NAME, VALUE, NOTE] = [
  { header: 'name', text: ({ name }: Row) => name, minWidth: 6 },
  numberColumn('value', ({ value }: Row) => value),
  { header: 'note', text: ({ note }: Row) => note, dropRank: 1 },
];
const COLUMNS: readonly Column<Row>[] = [NAME, VALUE, NOTE];
const at = (width: number, columns = COLUMNS, rows = ROWS) => renderTable(columns, rows, makeLook(width, false));

test.each<[string, number, readonly Column<Row>[], readonly string[]]>([
  ['names are cut first', 24, COLUMNS, ['name        value  note', 'a          1.5 ms  first', 'a longe…  12.5 ms']],
  [
    'then what matters least is dropped, and named',
    18,
    COLUMNS,
    ['name         value', 'a           1.5 ms', 'a longer…  12.5 ms', 'not shown at 18', '  columns: note'],
  ],
  [
    'a header gives way before a text does',
    24,
    [
      { header: 'a long header', text: ({ value }) => value, minWidth: 4 },
      { ...NAME, header: 'n', minWidth: 4 },
    ],
    ['a long h…  n', '1.5 ms     a', '12.5 ms    a longer name'],
  ],
  [
    'a text that wraps goes on in the next line, whole',
    24,
    [{ ...NAME, wraps: true }, VALUE, NOTE],
    ['name        value  note', 'a          1.5 ms  first', 'a longer  12.5 ms', 'name'],
  ],
  [
    'a header with a short form',
    22,
    [
      { ...VALUE, align: 'left' },
      { header: 'last 12 sweeps, ±7 %', short: '±7 %', text: ({ name }) => name },
    ],
    ['value    ±7 %', '1.5 ms   a', '12.5 ms  a longer name'],
  ],
])('%s', (_, width, columns, lines) => expect(at(width, columns)).toEqual(lines));

test('a sentence is cut at its end', () => {
  const sentence: Column<Row> = { header: 'why', text: ({ note }) => note, minWidth: 6 };
  expect(at(20, [sentence], [row('', '', 'another process was on the GPU')])).toEqual(['why', 'another process was…']);
});

test('wide characters count as two columns', () => {
  const lines = at(80, COLUMNS, [row('模型', '1', 'x'), row('😀', '2', 'y'), row('e\u0301', '3', 'z')]);
  expect(lines.slice(1).map(textWidth)).toEqual([14, 14, 14]);
});

test('never wider than the terminal, from 60 to 200 columns', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 60 });
  const rows = fc.array(fc.record({ name: text, value: fc.stringMatching(/^\d{1,8}$/), note: text }), {
    minLength: 1,
    maxLength: 5,
  });
  fc.assert(
    fc.property(rows, fc.integer({ min: 60, max: 200 }), (given, columns) => {
      for (const line of at(columns, COLUMNS, given)) expect(textWidth(line)).toBeLessThanOrEqual(columns);
    }),
  );
});

test.each([
  ['at the end', ['resnet50.fp16', 'vit_small.fp16'], ['resne…', 'vit_s…']],
  ['in the middle', ['resnet50.b1', 'resnet50.b8', 'vit_small.b1'], ['res….b1', 'res….b8', 'vit….b1']],
  ['at the beginning', ['trtexec/opt32/b1.graph1', 'trtexec/opt32/b8.graph1'], ['…b1.graph1', '…b8.graph1']],
])('names are cut %s, where they differ least', (_, names, cut) => {
  const [, ...lines] = at(
    Math.max(...cut.map(textWidth)) + 7,
    COLUMNS,
    names.map((name) => row(name)),
  );
  expect(lines.map((line) => line.replace(/ +1$/, ''))).toEqual(cut);
});

test('letters, signs, boxes and emoji are as wide as string-width says', () => {
  const compared =
    /[\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Hani}\p{sc=Hira}\p{sc=Kana}\u2010-\u2027\u2190-\u2319\u2500-\u25ff\uac00-\ud7a3\u{1f600}-\u{1f64f}]/u;
  for (let code = 0x20; code <= 0x1f64f; code += 1) {
    const character = String.fromCodePoint(code);
    if (!compared.test(character) || !character.isWellFormed()) continue;
    expect([code.toString(16), textWidth(character)]).toEqual([code.toString(16), stringWidth(character)]);
  }
});

test('a library whose name has no more than the major version is no other version', () => {
  const text = (tensorrtLibrary: string): string =>
    machineLines({ tensorrt: '10.6.0', tensorrtLibrary }, null, makeLook(120, false)).join('\n');
  expect(text('10')).not.toContain('library');
  expect(text('10.6.0')).not.toContain('library');
  expect(text('10.5.0')).toContain('library 10.5.0');
  expect(text('11')).toContain('library 11');
});
