import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { tQuantile, twoSidedP } from '../../src/analyse/student-t.ts';
import { bench, ROOT, temporaryFolder } from '../support/bench.ts';

const CONCEPTS = readFileSync(join(ROOT, 'docs', 'concepts.md'), 'utf8');

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
  const { cells } = JSON.parse((await bench(['compare', '--json'], { cwd })).stdout);
  const cell: unknown = cells.find(({ label }: { label: string }) => label.includes(' 8x3x'));
  expect(cell).toMatchObject({ verdict: 'slower', runs: [5, 5] });
  const { base, head, changePercent, ciPercent, mdePercent } = JSON.parse(JSON.stringify(cell));

  // Errors are of logarithms, which for small ones are percent.
  const error = (Math.log1p(mdePercent / 100) / 4) * 100;
  const t = tQuantile(0.05, 12);
  const distance = (Math.log1p(changePercent / 100) * 100) / error;
  const figures = [
    `| batch 8 | ${printed[0]} | ${base.toFixed(4)} ms |`,
    `| batch 32 | ${printed[1]} | ${head.toFixed(4)} ms |`,
    `is +${changePercent.toFixed(1)} %`,
    `${(error / Math.sqrt(1 / 5 + 1 / 5)).toFixed(3)} % × √(1/5 + 1/5) = ${error.toFixed(3)} %`,
    `within ${t.toFixed(2)} errors: ± ${(t * error).toFixed(3)} %`,
    `± ${(t * error * (head / base)).toFixed(2)} % of base: +${ciPercent[0].toFixed(1)} … +${ciPercent[1].toFixed(1)} %`,
    `Four errors: ${mdePercent.toFixed(2)} %`,
    `${distance.toFixed(0)} errors away`,
    `${tQuantile(0.01, 12).toFixed(2)} are passed once in a hundred`,
  ];
  expect(figures.filter((figure) => !CONCEPTS.includes(figure))).toEqual([]);
  expect(twoSidedP(3.05, 12)).toBeCloseTo(0.01, 3);
});
