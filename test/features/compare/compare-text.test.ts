import { describe, expect, test } from 'vitest';

import { bench } from '../../support/bench.ts';
import { sharedStore } from '../../support/made-stores.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { textWidth } from '../../../src/terminal/text-width.ts';

const WIDTHS = [60, 80, 120, 200];
const SIDES = ['latest~1', 'latest'];

async function linesOf(args: readonly string[], columns: number, env: Record<string, string> = {}) {
  const { stdout } = await bench(args, { env: { COLUMNS: String(columns), ...env } });
  const lines = stdout.trimEnd().split('\n');
  expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(columns);
  return lines;
}

test.each(WIDTHS)('why at %i columns: names whole, each with base, head and change', async (columns) => {
  const db = await sharedStore('pairs');
  const lines = await linesOf(['why', 'batch=8', ...SIDES, '--db', db], columns);
  const start = lines.findIndex((line) => line.startsWith('   value '));
  const rows = lines.slice(start + 1, start + 6).map((line) => line.replace(/ {2}[-+]\d+\.\d … .*? %(?= )/, ''));
  expect(rows.map((row) => row.trim().replaceAll(/ {2,}/g, ' | '))).toEqual([
    'GPU compute time | +15.8 % | 0.4117 ms | 0.4766 ms',
    'throughput | -13.7 % | 2419 qps | 2088 qps',
    'latency | +14.0 % | 0.4627 ms | 0.5275 ms',
    'mean GPU compute time | +15.9 % | 0.4119 ms | 0.4774 ms',
    '= | enqueue time | +2.3 % | 0.00131 ms | 0.00134 ms',
  ]);
  expect(lines.join('\n')).toContain('\n= within noise: enqueue time (detectable from 20 %)\n');
});

describe('the table of a comparison', () => {
  test.each(WIDTHS)('fits into %i columns; from 80 on: base, head, change and interval', async (columns) => {
    const lines = await linesOf(['compare', ...SIDES, '--db', await sharedStore('pairs')], columns);
    expect(lines[0]).toBe('2 slower, 0 faster · GPU compute time, median of runs');
    const values = ['0.3529   0.4434  +25.5 %', '0.4117   0.4766  +15.8 %'];
    const intervals = columns < 80 ? ['', ''] : ['  +25.2 … +25.8', '  +15.5 … +16.0'];
    const rows = lines.filter((line) => line.startsWith('slower '));
    expect(rows.map((row) => row.replace(/^.* (?=0\.\d+ +0\.)/, '').replace(/ +5\+5$/, ''))).toEqual(
      values.map((text, row) => `${text}${intervals[row] ?? ''}`),
    );
  });

  test('what is detectable is for rows without a change, and a single run is named once', async () => {
    const lines = await linesOf(['compare', ...SIDES, '--db', await sharedStore('nights')], 80);
    expect(lines[5]).toBe('unclear  vit_small fp16 b8    no-graph   0.4896   0.4793  -2.1  %      3.4  %');
    expect(lines.filter((line) => line.includes('no verdict: '))).toEqual(['no verdict: one run per side (24 cells)']);
    expect(lines.slice(-2).join(' ')).toBe(
      '24 unclear cells: changes from 3.4 % are detectable; about 3 more runs per side would settle most of them',
    );
    const pairs = await linesOf(['compare', ...SIDES, '--db', await sharedStore('pairs')], 200);
    expect(pairs.join('\n')).not.toContain('detectable');
  });

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
