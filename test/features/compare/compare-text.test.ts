import { describe, expect, test } from 'vitest';

import { bench } from '../../support/bench.ts';
import { sharedStore } from '../../support/made-stores.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { textWidth } from '../../../src/terminal/text-width.ts';

const SIDES = ['latest~1', 'latest'];

async function linesOf(args: readonly string[], columns: number, env: Record<string, string> = {}) {
  const { stdout } = await bench(args, { env: { COLUMNS: String(columns), ...env } });
  const lines = stdout.trimEnd().split('\n');
  expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(columns);
  return lines;
}

describe('the table of a comparison', () => {
  test('only the change has a color, and none without colors', async () => {
    const args = ['compare', ...SIDES, '--db', await sharedStore('pairs')];
    const lines = await linesOf(args, 200, { FORCE_COLOR: '1' });
    const row = lines.find((line) => line.startsWith('slower ')) ?? '';
    const escape = String.fromCodePoint(27);
    expect(row.split(escape).length).toBe(5);
    expect(row).toContain(`${escape}[1m${escape}[31m+25.5 %${escape}[39m${escape}[22m`);
    const plain = await linesOf(args, 200, { FORCE_COLOR: '1', NO_COLOR: '1' });
    expect(plain.join('\n')).not.toContain(escape);
  });
});

test('the same number of the same sweep: run, compare, trend, why and choose', async () => {
  const db = await sharedStore('pairs');
  const json = async (args: readonly string[]): Promise<unknown> =>
    JSON.parse((await bench([...args, '--db', db, '--json'])).stdout);
  const { cells } = OUTPUTS.compare.parse(await json(['compare', ...SIDES]));
  const trends = OUTPUTS.trend.parse(await json(['trend', '--by', 'sweep'])).cells;
  const shown = [await json(['show', 'latest~1']), await json(['show', 'latest'])].map((one) => OUTPUTS.run.parse(one));
  const chosen = OUTPUTS.pareto.parse(await json(['choose'])).workloads.flat();
  const latency = OUTPUTS.compare.parse(await json(['compare', ...SIDES, '--metric', 'latencyMs'])).cells;
  expect(chosen.map(({ latencyMs }) => latencyMs).toSorted()).toEqual(latency.map(({ head }) => head).toSorted());
  const { changes } = OUTPUTS.why.parse(await json(['why', 'batch=8', ...SIDES]));
  const explained = latency.find(({ label }) => label.includes(' 8x3x'));
  expect(changes.find(({ metric }) => metric === 'latencyMs')).toMatchObject({
    base: explained?.base,
    head: explained?.head,
  });
  expect(cells).toHaveLength(2);
  for (const { base, head, key } of cells) {
    const trend = trends.find((one) => one.key === key)?.points.map(({ value }) => value);
    expect(trend).toEqual([base, head]);
    expect(shown.map((sweep) => sweep.cells.find((one) => one.key === key)?.gpuComputeMs)).toEqual([base, head]);
  }
  const [first] = cells;
  expect([first?.base, first?.head]).toEqual([expect.closeTo(0.3529, 4), expect.closeTo(0.4434, 4)]);
});
