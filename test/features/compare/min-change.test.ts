import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { bench, ROOT, sharedFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';

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
  { args: ['--filter', 'batch=1'], code: 0, verdicts: ['same'], headline: '0 slower, 0 faster, 1 same' },
  { args: ['--min-change', '17'], code: 1, verdicts: ['slower', 'same'], headline: '1 slower, 0 faster, 1 same' },
  { args: ['--min-change', '50%'], code: 0, verdicts: ['same', 'same'], headline: '0 slower, 0 faster, 2 same' },
])('a change under the smallest one is none, as for check: $args', async ({ args, code, headline, verdicts }) => {
  const sides = ['compare', 'latest~1', 'latest', ...args];
  const shown = await bench([...sides, '--json'], { cwd });
  const { cells } = OUTPUTS.compare.parse(JSON.parse(shown.stdout));
  expect([shown.code, cells.map(({ verdict }) => verdict)]).toEqual([code, verdicts]);
  // The change and its interval stay.
  for (const { changePercent, ciPercent, reasons, verdict } of cells) {
    expect(reasons.includes('belowMinChange')).toBe(verdict === 'same');
    expect(changePercent).toBeGreaterThan(10);
    expect(ciPercent?.[0]).toBeGreaterThan(10);
  }
  const { stdout } = await bench(sides, { cwd });
  expect(stdout.split(' · ')[0]).toBe(headline);
  const small = cells.filter(({ verdict }) => verdict === 'same').length;
  const why = 'a change below the smallest one that counts (--min-change, or minChange of the matrix)';
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(`${why} (${small} cell${small === 1 ? '' : 's'})`);
  const checked = await bench(['check', '--json', ...args], { cwd });
  const judged = OUTPUTS.check.parse(JSON.parse(checked.stdout)).series[0]?.cells ?? [];
  expect(new Map(judged.map(({ key, verdict }) => [key, verdict]))).toEqual(
    new Map(cells.map(({ key, verdict }) => [key, verdict])),
  );
});
