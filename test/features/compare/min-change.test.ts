import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder } from '../../support/bench.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';
import { benchJson, jsonOf, OUTPUTS } from '../../support/outputs.ts';

const MATRICES = join(ROOT, 'matrices');

const cwd = sharedFolder();

/** Two sweeps: the engine of the second is tuned for batch 32, which costs the small batches. */
beforeAll(async () => {
  await bench(['run', join(MATRICES, 'quickstart-pair.yaml')], { cwd });
  const gate = 'gate: {minChange: [{percent: 90%}, {filter: batch=8, percent: 1%}]}';
  writeFileSync(
    join(cwd, 'opt32.yaml'),
    `name: quickstart-pair\nextends: ${join(MATRICES, 'quickstart-pair-opt32.yaml')}\n${gate}\n`,
  );
  await bench(['run', 'opt32.yaml'], { cwd });
}, 60_000);

test.each([
  // Without the option it is that of the matrix, cell by cell.
  { args: [], code: 1, verdicts: ['slower', 'same'], headline: '1 slower, 0 faster, 1 same' },
  { args: ['--fail-on', 'new'], code: 1, verdicts: ['slower', 'same'], headline: '1 slower, 0 faster, 1 same' },
  { args: ['--filter', 'batch=1'], code: 0, verdicts: ['same'], headline: '0 slower, 0 faster, 1 same' },
  { args: ['--min-change', '17'], code: 1, verdicts: ['slower', 'same'], headline: '1 slower, 0 faster, 1 same' },
  { args: ['--min-change', '50%'], code: 0, verdicts: ['same', 'same'], headline: '0 slower, 0 faster, 2 same' },
])('a change under the smallest one is none, as for check: $args', async ({ args, code, headline, verdicts }) => {
  const sides = ['compare', 'latest~1', 'latest', ...args];
  const { json, ...ended } = await benchJson(OUTPUTS.compare, sides, { cwd });
  const { cells } = json;
  expect([ended.code, cells.map(({ verdict }) => verdict)]).toEqual([code, verdicts]);
  // The change and its interval stay.
  for (const { changePercent, ciPercent, reasons, verdict } of cells) {
    expect(reasons.includes('belowMinChange')).toBe(verdict === 'same');
    expect(changePercent).toBeGreaterThan(10);
    expect(ciPercent?.[0]).toBeGreaterThan(10);
  }
  const { stdout } = await bench(sides, { cwd });
  expect(stdout.split(' · ')[0]).toBe(headline);
  const small = cells.filter(({ verdict }) => verdict === 'same').map(({ label }) => label);
  const why = 'a change below the smallest one that counts (--min-change, or minChange of the matrix)';
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    `${why} (${small.length === 1 && cells.length > 1 ? small.join('') : `${small.length} cell${small.length === 1 ? '' : 's'}`})`,
  );
  const judged = (await jsonOf(OUTPUTS.check, ['check', ...args], { cwd })).series[0]?.cells ?? [];
  const [expected, found] = [cells, judged].map((all) => new Map(all.map(({ key, verdict }) => [key, verdict])));
  expect(found).toEqual(expected);
});

test('one build a side gives a verdict on the size of an engine, as in check', async () => {
  const folder = sharedFolder();
  const engine = (cell: number, night: number) => ({
    buildId: `${cell}${night}`.padStart(32, 'd'),
    engineMib: cell === 0 && night === 1 ? 11 : 10,
  });
  simulateNights(join(folder, 'bench.sqlite'), {
    cells: simulatedCells(2),
    nights: 2,
    repeats: 2,
    value: () => 1,
    engine,
  });
  const { json } = await benchJson(OUTPUTS.compare, ['compare', 'latest~1', 'latest', '--metric', 'engine-size'], {
    cwd: folder,
  });
  expect(json.cells).toMatchObject([
    { verdict: 'slower', base: 10, head: 11, changePercent: expect.closeTo(10, 9) },
    { verdict: 'same', base: 10, head: 10 },
  ]);
});
