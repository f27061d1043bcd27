import { execFileSync } from 'node:child_process';

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { printable } from '../../src/text/printable.ts';
import { scriptQuote, shellLine, shellQuote } from '../../src/text/shell-quote.ts';

const scriptLine = (list: readonly string[]): string => list.map(scriptQuote).join(' ');

test.each([
  ['--shapes=input:8x3x224x224', '--shapes=input:8x3x224x224'],
  ['two words', `'two words'`],
  ["it's", String.raw`'it'\''s'`],
  ['$(id); `id`', "'$(id); `id`'"],
  ['', "''"],
  ['~', "'~'"],
  ['HEAD~1', 'HEAD~1'],
  ['right\u202eleft', String.raw`'right'"$(printf '\342\200\256')"'left'`],
  ['a\nb\u001b[31m', String.raw`$'a\x0ab\x1b[31m'`],
])('%j on one line as %s', (argument, expected) => expect(shellQuote(argument)).toBe(expected));

test.each([
  ["it's", String.raw`'it'\''s'`],
  ['', "''"],
  ['a\nb', "'a\nb'"],
  ['a\u001b[31m', String.raw`'a'"$(printf '\033')"'[31m'`],
])('%j in a script as %s', (argument, expected) => expect(scriptQuote(argument)).toBe(expected));

test.each([
  ['bash', 'on one line', shellLine],
  ['sh', 'in a script', scriptLine],
  ['bash', 'in a script', scriptLine],
] as const)('%s reads back exactly what was meant %s, and nothing raw is in it', (shell, _, lineOf) => {
  const argument = fc
    .string({ unit: 'binary', maxLength: 30 })
    .filter((text) => !text.includes('\0') && text.isWellFormed());
  fc.assert(
    fc.property(fc.array(argument, { minLength: 1, maxLength: 4 }), (list) => {
      const line = lineOf(list);
      for (const part of lineOf === shellLine ? [line] : line.split('\n')) expect(printable(part)).toBe(part);
      const out = execFileSync(shell, [...(shell === 'bash' ? ['--norc'] : []), '-c', `printf '%s\\0' ${line}`], {
        env: { LC_ALL: 'C.UTF-8', PATH: process.env['PATH'] },
      });
      expect(out.toString().split('\0').slice(0, -1)).toEqual(list);
    }),
    { numRuns: 25 },
  );
});
