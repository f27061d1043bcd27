import { expect, test } from 'vitest';

import { findFlag, flagNames, isFlagIn } from '../../../src/trtexec/flags/flag-table.ts';
import { decodeMarkerVersion, parseTensorrtVersion } from '../../../src/text/version.ts';
import table from '../../fixtures/trtexec/flags/trtexec-flags.json' with { type: 'json' };

function isIn(flag: string, version: string): boolean {
  const parsed = parseTensorrtVersion(version);
  if (parsed === null) throw new Error(version);
  return isFlagIn(flag, parsed);
}

test.each(table)('every flag in every version that was read: $flag', ({ flag, in: versions }) => {
  for (const [version, expected] of Object.entries(versions)) {
    expect([version, isIn(flag, version)]).toEqual([version, expected]);
  }
});

test('the table has what was read from the tags, and nothing else', () => {
  expect(flagNames()).toEqual(table.map(({ flag }) => flag));
  expect(table.map(({ flag }) => findFlag(flag)?.value)).toEqual(
    table.map(({ takesValue }) => (takesValue === 'optional' ? 'optional' : takesValue === true ? 'needed' : 'none')),
  );
});

test.each(['includeDataTransfers', 'noCudaGraph', 'noSpinWait'])('--%s is unknown before 11.0', (flag) => {
  for (const version of ['8.6.1', '10.0', '10.16']) expect(isIn(`--${flag}`, version)).toBe(false);
});

test.each([
  ['8601', [8, 6, 1]],
  ['9200', [9, 2, 0]],
  ['8401', [8, 4, 1]],
  ['100300', [10, 3, 0]],
  ['100600', [10, 6, 0]],
  ['101600', [10, 16, 0]],
  ['110100', [11, 1, 0]],
])('marker v%s', (digits, [major, minor, patch]) => {
  expect(decodeMarkerVersion(digits)).toEqual({ major, minor, patch });
});
