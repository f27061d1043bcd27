import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { asciiText } from '../../src/terminal/ascii.ts';
import { makeLook } from '../../src/terminal/look.ts';
import { renderTable } from '../../src/terminal/table.ts';
import { bench, ROOT, sharedFolder } from '../support/bench.ts';

let cwd: string;

beforeAll(async () => {
  cwd = sharedFolder();
  for (const name of ['quickstart-pair', 'quickstart-pair-opt32']) {
    await bench(['run', join(ROOT, 'matrices', `${name}.yaml`), '-q'], { cwd });
  }
});

test('signs become ASCII, letters of names stay', () => {
  expect(asciiText('▲ 2 slower · 0.5 → 0.6 ms ± 1 % ≥ 3 · größe 日本 μ…')).toBe(
    '^ 2 slower | 0.5 -> 0.6 ms +/- 1 % >= 3 | größe 日本 μ~',
  );
});

test('columns stay aligned where a sign becomes two', () => {
  const rows = [
    { change: '1 → 2', name: 'a' },
    { change: 'none', name: 'b' },
  ];
  const columns = [
    { header: 'change ±', text: ({ change }: (typeof rows)[number]) => change },
    { header: 'name', text: ({ name }: (typeof rows)[number]) => name },
  ];
  expect(renderTable(columns, rows, makeLook(80, false, true))).toEqual([
    'change +/-  name',
    '1 -> 2      a',
    'none        b',
  ]);
});

test.each(['compare', 'check', 'trend', 'why b1', 'show latest', 'ls sweeps', 'noise', 'choose', 'help words'])(
  'a terminal without Unicode gets none of it from bench %s',
  async (line) => {
    const { stderr, stdout } = await bench(line.split(' '), { cwd, env: { TERM: 'dumb' } });
    expect(stdout.length).toBeGreaterThan(100);
    expect(`${stdout}${stderr}`).toMatch(/^\p{ASCII}*$/u);
  },
);
