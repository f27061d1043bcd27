import { expect, test } from 'vitest';

import { commandWords } from '../../src/text/command-words.ts';

test.each([
  ['make -j8 engines', ['make', '-j8', 'engines']],
  ["  sh -c 'cd x && make; echo $A'  ", ['sh', '-c', 'cd x && make; echo $A']],
  [String.raw`a\ b "c \"d\" \$e \n" f'g'"h"`, ['a b', String.raw`c "d" $e \n`, 'fgh']],
  ["x ''", ['x', '']],
  ['echo a;b', ['echo', 'a;b']],
])('%s', (text, words) => {
  expect(commandWords(text)).toEqual(words);
});

test.each([
  ['', 'is empty'],
  ['   ', 'is empty'],
  ["''", 'is empty'],
  ["make 'x", 'has a quote that is not closed'],
  ['make "x', 'has a quote that is not closed'],
  ['make \\', 'has a quote that is not closed'],
  ['cd x && make', 'runs without a shell, which "&&" is for'],
  ['make | tee log', 'runs without a shell, which "|" is for'],
  ['cd x; make', 'runs without a shell, which "x;" is for'],
])('%s is refused', (text, problem) => {
  expect(commandWords(text)).toContain(problem);
});
