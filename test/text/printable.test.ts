import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { jsonText, printable } from '../../src/text/printable.ts';

// oxlint-disable-next-line no-control-regex -- what a terminal would act on
const RAW = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

test.each([
  ['plain', 'plain'],
  ['a\nb\tc\r', String.raw`a\nb\tc\r`],
  ['\u001b[31mred', String.raw`\u001b[31mred`],
  ['\u009b2J', String.raw`\u009b2J`],
  ['left\u202eright', String.raw`left\u202eright`],
  ['模型 😀', '模型 😀'],
])('%j', (text, expected) => {
  expect(printable(text)).toBe(expected);
});

test('nothing that a terminal acts on is left, and twice is the same as once', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(printable(text)).not.toMatch(RAW);
      expect(printable(printable(text))).toBe(printable(text));
    }),
  );
});

test('JSON says the same text, with nothing raw in it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const json = jsonText({ text });
      expect(json.replaceAll('\n', '')).not.toMatch(RAW);
      expect(JSON.parse(json)).toEqual({ text });
    }),
  );
});
