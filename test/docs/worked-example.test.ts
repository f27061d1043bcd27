import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { detectableErrors } from '../../src/judge/detectable-effect.ts';
import { tQuantile, twoSidedP } from '../../src/statistics/student-t.ts';
import { bench, ROOT, temporaryFolder } from '../support/bench.ts';

const VERDICTS = readFileSync(join(ROOT, 'docs', 'explanation', 'verdicts.md'), 'utf8').replaceAll(/\s+/g, ' ');

/** Medians of trtexec as `bench report --csv` has them, in the order of the table in the document. */
function mediansOf(csv: string): string {
  const [head = '', ...rows] = csv.trim().split('\n');
  const names = head.split(',');
  return rows
    .map((row) => row.split(','))
    .filter((row) => row[names.indexOf('batch')] === '8')
    .toSorted((a, b) => Number(a[names.indexOf('repeat')]) - Number(b[names.indexOf('repeat')]))
    .map((row) => Number(row[names.indexOf('gpuComputeMs')]).toFixed(4))
    .join(' ');
}

test('the arithmetic of the worked example is that of the comparison', async () => {
  const cwd = temporaryFolder();
  const printed: string[] = [];
  for (const name of ['quickstart-pair', 'quickstart-pair-opt32']) {
    const { code } = await bench(['run', join(ROOT, 'matrices', `${name}.yaml`)], { cwd });
    expect(code).toBe(0);
    printed.push(mediansOf((await bench(['report', '--csv', '-'], { cwd })).stdout));
  }
  const { cells } = JSON.parse((await bench(['compare', 'latest~1', 'latest', '--json'], { cwd })).stdout);
  const cell: unknown = cells.find(({ label }: { label: string }) => label.includes(' 8x3x'));
  expect(cell).toMatchObject({ verdict: 'slower', runs: [5, 5] });
  const { base, head, changePercent, ciPercent, mdePercent, noise } = JSON.parse(JSON.stringify(cell));

  const error = noise.runPercent * Math.sqrt(1 / 5 + 1 / 5);
  const t = tQuantile(0.05, 8);
  // Both cells are called.
  const limit = tQuantile(0.03, 8);
  const errors = detectableErrors(limit, 8);
  const distance = (Math.log1p(changePercent / 100) * 100) / error;
  const figures = [
    `| batch 8 | ${printed[0]} | ${base.toFixed(4)} ms |`,
    `| batch 32 | ${printed[1]} | ${head.toFixed(4)} ms |`,
    `is +${changePercent.toFixed(1)} %`,
    `${noise.runPercent.toFixed(3)} % × √(1/5 + 1/5) = ${error.toFixed(3)} %`,
    `within ${t.toFixed(2)} errors: ± ${(t * error).toFixed(3)} %`,
    `± ${(t * error * (head / base)).toFixed(2)} % of base: +${ciPercent[0].toFixed(1)} … +${ciPercent[1].toFixed(1)} %`,
    `from ${limit.toFixed(2)} errors on`,
    `${errors.toFixed(1)} errors`,
    `${distance.toFixed(0)} errors away`,
    `one comparison in a hundred exceeds ${tQuantile(0.01, 8).toFixed(2)} errors`,
    `${mdePercent.toFixed(2)} %`,
  ];
  expect(figures.filter((figure) => !VERDICTS.includes(figure))).toEqual([]);
  expect(twoSidedP(3.36, 8)).toBeCloseTo(0.01, 3);
});
