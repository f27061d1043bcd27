import { expect, test } from 'vitest';

import { loadingOf } from '../../src/trtexec/program/probe-trtexec.ts';

test.each([
  ['10.6.0.26', '10.6.0', 'loads'],
  ['10.6.0.26', '10', 'maybe'],
  ['10.3.0.26', '10.6.0', 'maybe'],
  ['10.7.0.23', '10.6.0', 'never'],
  ['8.6.1.6', '10.6.0', 'never'],
  ['11.0.0.1', '10.6.0', 'never'],
] as const)('an engine of %s under %s: %s', (built, running, expected) => {
  expect(loadingOf(built, running)).toBe(expected);
});
