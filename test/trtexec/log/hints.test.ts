import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { HINT_RULES } from '../../../src/trtexec/log/hints.ts';
import { onlyRun } from '../../support/recordings.ts';

/** Id, number and line of each rule, word for word from NVIDIA's sources (6.0 to 11.1) or from a real log. */
const LINES = readFileSync(join(import.meta.dirname, 'lines', 'hints.tsv'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((row) => row.split('\t'));

test.each(LINES)('%s', (id, value = '', line = '') => {
  const run = onlyRun(`[11/21/2026-07:33:53] ${line}\n`);
  expect(run.hints.map((hint) => [hint.id, String(hint.value ?? '')])).toEqual([[id, value]]);
});

test('every rule has a line here', () => {
  const shown = new Set(LINES.map(([id]) => id));
  expect(HINT_RULES.map(({ id }) => id).filter((id) => !shown.has(id))).toEqual([]);
});
