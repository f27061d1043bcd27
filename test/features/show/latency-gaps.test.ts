import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { bench, temporaryFolder } from '../../support/bench.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { simulatedCells, simulateNights } from '../../support/simulated-store.ts';

test("an application's latency stands next to that of trtexec, and the gap is named on both sides", async () => {
  const folder = temporaryFolder();
  const db = join(folder, 'bench.sqlite');
  simulateNights(db, { cells: simulatedCells(2), nights: 2, repeats: 3, value: (_, night) => 5 + night });
  const take = async (name: string, ms: number, metric: string, shape: string): Promise<void> => {
    writeFileSync(join(folder, name), `${ms}\n`);
    const cell = ['--model', 'vit', '--precision', 'fp16', '--shapes', shape, '--metric', metric];
    const { code, stderr } = await bench(['import', join(folder, name), ...cell, '--db', db]);
    expect([code, stderr]).toEqual([0, '']);
  };
  const [first] = simulatedCells(1);
  const shape = Object.entries(first?.shapes ?? {}).map(([input, sizes]) => `${input}:${sizes.join('x')}`);
  await take('e2e.txt', 10, 'e2e_ms', shape.join(','));
  await take('rate.txt', 90, 'rate:higher:items/s', shape.join(','));
  await take('other.txt', 10, 'e2e_ms', 'input:64x3x224x224');
  const show = async (cell: string) => {
    const { stdout, stderr } = await bench(['show', cell, '--json', '--db', db]);
    expect(stderr).toBe('');
    return OUTPUTS['show-cell'].parse(JSON.parse(stdout));
  };
  const trtexec = await show(first?.key ?? '');
  expect(trtexec.latencyGaps).toHaveLength(1);
  const [gap] = trtexec.latencyGaps;
  expect(gap).toMatchObject({
    applicationMs: 10,
    trtexecMs: 6,
    gapMs: 4,
    metric: 'e2e_ms:lower:ms',
    trtexecKey: first?.key,
  });
  const { latencyGaps } = await show(gap?.applicationKey ?? '');
  expect(latencyGaps).toEqual([{ ...gap, otherLabel: expect.stringContaining('vit fp16') }]);
  const text = await bench(['show', first?.key ?? '', '--db', db], { env: { COLUMNS: '200' } });
  expect(text.stdout).toMatch(
    /\ne2e_ms 10\.00 ms, latency of trtexec 6\.000 ms without copies: 4\.000 ms \(40\.0 %\) outside of what trtexec measures \(vit fp16 .* by command\)/,
  );
});
