import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { STUB } from '../../support/stub.ts';
import { batchMatrix } from '../../support/trouble.ts';

const BATCHES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];

test('a filtered run adds to its cell, and the others keep their newest values in every output', async () => {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  const matrix = batchMatrix(folder, BATCHES, ['repeats: 1']);
  const run = (...args: string[]) =>
    bench(['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry', ...args], { cwd: folder });
  const checked = async () =>
    OUTPUTS.check.parse(JSON.parse((await bench(['check', '--json', '--db', db], { cwd: folder })).stdout));
  for (let night = 0; night < 3; night += 1) await run();
  const [before] = (await checked()).series;
  await run('--filter', 'batch=3');
  const [after] = (await checked()).series;
  expect(after?.cells).toHaveLength(12);
  expect(after?.cells.map(({ reason }) => reason)).toEqual(BATCHES.map(() => null));
  expect(after?.cells.map(({ now }) => now)).toEqual(before?.cells.map(({ now }) => now));
  // Its interval has one more sweep of one cell in it.
  const ciPercent: unknown = before?.geometricMean?.ciPercent?.map((end) => expect.closeTo(end, 2));
  expect(after?.geometricMean).toEqual({ ...before?.geometricMean, ciPercent });
  expect(after?.notes).toEqual(['11 cells left out of this sweep: the newest values count']);
  const text = await bench(['check', '--db', db], { cwd: folder });
  expect(text.stdout).not.toContain('missing');
  const compared = OUTPUTS.compare.parse(
    JSON.parse((await bench(['compare', '--json', '--db', db], { cwd: folder })).stdout),
  );
  expect(compared.counts).toMatchObject({ same: 12, missing: 0 });
  const trend = OUTPUTS.trend.parse(JSON.parse((await bench(['trend', '--json', '--db', db], { cwd: folder })).stdout));
  expect(trend.cells.map(({ verdict }) => verdict)).toEqual(BATCHES.map(() => 'same'));
  const report = OUTPUTS.report.parse(
    JSON.parse((await bench(['report', '--json', '--junit', 'out.xml', '--db', db], { cwd: folder })).stdout),
  );
  expect(report.counts).toEqual({ same: 12 });
});
