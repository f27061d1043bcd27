import { expect, test } from 'vitest';

import { mistakesIn } from '../support/matrices.ts';
import { BROKEN_MATRICES } from './broken-matrices.ts';

test.each(BROKEN_MATRICES)('$name', ({ files, mistakes }) => {
  expect(mistakesIn(files)).toEqual(mistakes);
});
