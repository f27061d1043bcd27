import { execFileSync } from 'node:child_process';

import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { insertable, readTypedLine } from '../../../src/features/completion/completion.ts';
import { printable } from '../../../src/text/printable.ts';

const BREAKS = ' \t\n"\'><=;|&(:';

/** What bash makes of a word. */
function asBashReads(word: string): string {
  const script = `set -f; words=(${word}); printf '%s\\0' "\${words[@]}"`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).replace(/\0$/, '');
}

const typedValue = fc
  .oneof(fc.string({ minLength: 1 }), fc.string({ unit: 'grapheme', minLength: 1 }))
  .filter((value) => printable(value) === value);

describe('what was typed', () => {
  test.each([
    ['bench compare ', ['bench', 'compare'], { text: '', quote: null, kept: 0 }],
    ['bench  compare ma', ['bench', 'compare'], { text: 'ma', quote: null, kept: 0 }],
    ['bench compare base:v', ['bench', 'compare'], { text: 'base:v', quote: null, kept: 5 }],
    [String.raw`bench compare base\:v`, ['bench', 'compare'], { text: 'base:v', quote: null, kept: 0 }],
    [`bench why 'a b' "c`, ['bench', 'why', 'a b'], { text: 'c', quote: '"', kept: 0 }],
    [`bench why 'it is: `, ['bench', 'why'], { text: 'it is: ', quote: "'", kept: 0 }],
    [String.raw`bench why a\ b`, ['bench', 'why'], { text: 'a b', quote: null, kept: 0 }],
    ['bench why "a\\$b', ['bench', 'why'], { text: 'a$b', quote: '"', kept: 0 }],
    ['bench why "a\\nb', ['bench', 'why'], { text: 'a\\nb', quote: '"', kept: 0 }],
    ['bench why a"b', ['bench', 'why'], null],
    ['bench why "a"', ['bench', 'why'], null],
    ['bench why a\\', ['bench', 'why'], null],
  ])('%s', (line, words, current) => {
    expect(readTypedLine(line, BREAKS)).toEqual({ words, current });
  });
});

describe('what is put there', () => {
  test('bash reads back any value, and evaluates nothing of it', () => {
    fc.assert(
      fc.property(typedValue, (value) => {
        const word = insertable(value, { text: '', quote: null, kept: 0 });
        expect(asBashReads(word ?? '')).toBe(value);
      }),
      { numRuns: 60 },
    );
  });

  test('inside of quotes too, or it is not offered', () => {
    fc.assert(
      fc.property(typedValue, fc.constantFrom('"' as const, "'" as const), (value, quote) => {
        const word = insertable(value, { text: '', quote, kept: 0 });
        if (word !== null) expect(asBashReads(`${quote}${word}${quote}`)).toBe(value);
      }),
      { numRuns: 60 },
    );
    expect(insertable('a$(b)', { text: '', quote: '"', kept: 0 })).toBeNull();
    expect(insertable('a$(b)', { text: '', quote: "'", kept: 0 })).toBe('a$(b)');
    expect(insertable("it's", { text: '', quote: "'", kept: 0 })).toBeNull();
  });

  test('only what stands behind the last break', () => {
    const [, current] = ['', readTypedLine('bench compare baseline:v', BREAKS).current];
    expect(current && insertable('baseline:v1 $x', current)).toBe(String.raw`v1\ \$x`);
  });
});
