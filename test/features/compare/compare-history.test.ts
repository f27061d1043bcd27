import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { median } from '../../../src/statistics/order-statistics.ts';
import { textWidth } from '../../../src/terminal/look.ts';
import { bench, temporaryFolder } from '../../support/bench.ts';
import { benchJson, jsonOf, OUTPUTS } from '../../support/outputs.ts';
import { normals, simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';
import { syntheticLog } from '../../support/fitness-facts.ts';
import { FakeGpu } from '../../support/fake-gpu.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import { sharedStore, simulatedStore } from '../../support/made-stores.ts';
import { change as changeStore } from '../../support/store-dump.ts';

const SIDES = ['latest~1', 'latest'];

const newestCompared = (db: string) => benchJson(OUTPUTS.compare, ['compare', ...SIDES, '--db', db]);

describe('earlier nights and a comparison', () => {
  test('one wild sweep 22 nights ago hides no change of tonight', async () => {
    const normal = normals(61);
    const cells = simulatedCells(24);
    const db = simulatedStore({
      cells,
      nights: 40,
      repeats: 3,
      value: (cell, night) => {
        const isSlower = cell < 6 && night === 39;
        return Math.exp(0.004 * normal()) * (cell < 6 && night === 17 ? 1.2 : 1) * (isSlower ? 1.08 : 1);
      },
    });
    const { code, json } = await newestCompared(db);
    expect(code).toBe(1);
    const slower = json.cells.filter(({ verdict }) => verdict === 'slower');
    expect(new Set(slower.map(({ key }) => key))).toEqual(new Set(cells.slice(0, 6).map(({ key }) => key)));
    for (const { mdePercent, noise } of slower) {
      expect(noise).toMatchObject({ from: 'runsAndNights' });
      expect(mdePercent).toBeLessThan(3);
    }
  });

  test('nights of another level say nothing on the first nights of a new one', async () => {
    const normal = normals(62);
    const db = simulatedStore({
      cells: simulatedCells(4),
      nights: 14,
      repeats: 3,
      value: (_cell, night) => Math.exp(0.001 * normal()) * (night < 12 ? 1 : 1.23) * (night < 13 ? 1 : 0.81),
    });
    for (const { verdict, noise, mdePercent } of (await newestCompared(db)).json.cells) {
      expect({ verdict, noise }).toMatchObject({ verdict: 'faster', noise: { from: 'runs', nights: 0 } });
      expect(mdePercent).toBeLessThan(1);
    }
  });
});

test('a slow-down of all cells is one regression, and a new driver that explains it does not excuse it', async () => {
  const normal = normals(63);
  const value = (_cell: number, night: number) => Math.exp(0.002 * normal()) * (night === 0 ? 1 : 1.03);
  const driver = (night: number) => (night === 0 ? '580.1' : '590.2');
  const db = simulatedStore({ cells: simulatedCells(12), nights: 2, repeats: 4, value, driver });
  const { code, json } = await newestCompared(db);
  const { counts, shift, cells } = json;
  expect({ code, shift }).toMatchObject({ code: 1, shift: { verdict: 'slower', recorded: ['driver 580.1 → 590.2'] } });
  expect(counts).toMatchObject({ slower: 0, faster: 0 });
  expect(counts.same).toBeGreaterThan(9);
  for (const { reasons } of cells) expect(reasons).toContain('commonShift');
  const { stdout } = await bench(['compare', '--db', db], { env: { COLUMNS: '200' } });
  expect(stdout).toContain('12 cells slower: 12 new');
  expect(stdout).toContain('driver 580.1 → 590.2');
});

/** Sweeps of cells whose GPU time stays; from the last one on the host slows some of them down. */
async function hostSlows(cells: number, slowed: number, repeats: number) {
  const random = normals(7);
  const db = simulatedStore({
    cells: simulatedCells(cells),
    nights: 2,
    repeats,
    value: (cell) => (1 + cell) * Math.exp(0.001 * random()),
    figures: (cell, night) => {
      const isSlow = night === 1 && cell < slowed;
      const qps = ((isSlow ? 720 : 900) / (1 + cell)) * Math.exp(0.001 * random());
      return { qps, boundBy: isSlow ? 'host' : 'compute' };
    },
  });
  const isLast = 'run_id IN (SELECT run_id FROM runs WHERE sweep_id = (SELECT max(sweep_id) FROM sweeps))';
  changeStore(db, `UPDATE measurements SET enqueue_ratio = CASE WHEN ${isLast} THEN 0.6 ELSE 0.4 END`);
  const compared = await newestCompared(db);
  const checked = await benchJson(OUTPUTS.check, ['check', '--db', db]);
  const { stdout: text } = await bench(['compare', ...SIDES, '--db', db]);
  const { json: trend } = await benchJson(OUTPUTS.trend, ['trend', '--db', db]);
  const codes = [compared.code, checked.code];
  return { codes, compared: compared.json, checked: checked.json.series[0]?.cells ?? [], text, trend: trend.cells };
}

test('a cell that only the host slows down is slower in throughput, in compare, check and trend', async () => {
  const { checked, codes, compared, trend } = await hostSlows(3, 1, 3);
  expect([codes, compared.counts]).toMatchObject([[1, 1], { slower: 1, same: 2 }]);
  const [cell] = compared.cells;
  expect(cell).toMatchObject({ verdict: 'slower', metric: 'throughputQps' });
  expect(cell?.changePercent).toBeCloseTo(-20, 0);
  expect(cell?.reasons.join()).toContain('now bound by the host, before by GPU compute');
  for (const cells of [checked, trend]) {
    expect(cells.map(({ metric, verdict }) => [metric, verdict]).toSorted()).toEqual([
      ['gpuComputeMs', 'same'],
      ['gpuComputeMs', 'same'],
      ['throughputQps', 'slower'],
    ]);
  }
  expect(new Set(compared.geometricMeans.map(({ metric }) => metric))).toEqual(new Set(['gpuComputeMs']));
});

test('where all cells share it, it is one finding that names throughput', async () => {
  const { codes, compared, text } = await hostSlows(12, 12, 3);
  expect([codes, compared.shift]).toMatchObject([[1, 1], { metric: 'throughputQps', sharing: 12, verdict: 'slower' }]);
  expect(text).toMatch(/Common shift of -20\.\d % in throughput, which fits all 12 cells: a regression by itself/);
});

describe('two levels inside runs', () => {
  const DAYS = [
    ['base', '11/21/2026'],
    ['head', '11/22/2026'],
  ] as const;

  /** Five runs of 1 ms, each a little off the others, against five of which some queries take 1.3 ms. Made up. */
  async function comparedLevels(slowPercent: number) {
    const folder = temporaryFolder();
    const db = ['--db', join(folder, 'bench.sqlite')];
    for (const [side, day] of DAYS) {
      for (let run = 0; run < 5; run += 1) {
        const times = Array.from({ length: 1000 }, (_, query) => {
          const isSlow = side === 'head' && (query * 37) % 100 < slowPercent;
          return (isSlow ? 1.3 : 1) * (1 + 0.0004 * run) * (0.995 + 0.01 * ((query * 0.618) % 1));
        });
        const computeMs = median(times) ?? 0;
        const log = syntheticLog({ throughputQps: 990 / computeMs, computeMs })
          .replaceAll('11/21/2026', day)
          .replaceAll('--loadEngine=a.engine', '--onnx=net.onnx --fp16 --useCudaGraph --exportTimes=times.json');
        const path = join(folder, side, String(run));
        mkdirSync(path, { recursive: true });
        writeFileSync(join(path, 'stdout.log'), log);
        writeFileSync(join(path, 'times.json'), JSON.stringify(times.map((ms) => ({ computeMs: ms, latencyMs: ms }))));
      }
      expect((await bench(['import', join(folder, side), '--sweep', side, ...db])).code).toBe(0);
    }
    const { code, json } = await benchJson(OUTPUTS.compare, ['compare', 'base', 'head', ...db]);
    return { code, ...json.cells[0] };
  }

  test.each([
    [75, 1, 29.8, ': 75 % of queries at 1.3 ms, the others at 1 ms'],
    // The next run may have more queries at the other level.
    [55, 1, 29.5, ', trusted less: 55 % of queries at 1.3 ms, the others at 1 ms'],
    [20, 0, 0.1, ': 80 % of queries at 1 ms, the others at 1.3 ms'],
  ])(
    '%i of 100 queries of each run at another level: judged by the median, and said',
    async (slow, code, change, says) => {
      const cell = await comparedLevels(slow);
      expect(cell).toMatchObject({ code, changePercent: expect.closeTo(change, 1) });
      expect(cell.verdict).toBe(code === 1 ? 'slower' : 'same');
      expect(cell.reasons).toContain(`two levels inside runs${says} (5 of 5 runs of head)`);
      const [least = 0, most = 0] = cell.ciPercent ?? [];
      expect(most - least > 10).toBe(says.startsWith(', trusted less'));
    },
  );
});

describe('the same engine, with clocks floating and locked', () => {
  let gpu: FakeGpu;
  let db: string;

  const compare = (...more: string[]) => bench(['compare', ...SIDES, '--db', db, ...more], { cwd: gpu.folder });

  beforeAll(async () => {
    gpu = new FakeGpu('all tests');
    db = join(gpu.folder, 'bench.sqlite');
    const matrix = stubMatrix(gpu.folder, ['repeats: 3']);
    for (const more of [[], ['--lock-clocks', '1590']]) {
      const args = ['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry', ...more];
      const { code, stderr } = await bench(args, { env: gpu.env(), cwd: gpu.folder });
      if (code !== 0) throw new Error(stderr);
    }
    // A locked clock is the level of its own side.
    const clock = 'iif(sweep_id = (SELECT sweep_id FROM sweeps ORDER BY started_at LIMIT 1), 1980, 1590)';
    const columns = 'run_id, samples, clock_reasons, other_processes, sm_clock_mhz';
    changeStore(db, `INSERT INTO run_telemetry (${columns}) SELECT run_id, 9, '[]', '[]', ${clock} FROM runs`);
  }, 60_000);

  test('they are not compared, and the way to do it is named', async () => {
    const { code, stdout } = await compare();
    expect({ code, stdout }).toEqual({ code: 4, stdout: expect.stringContaining('2 no result') });
    expect(stdout).toMatch(/clocks \w+ → locked 1590 MHz: compare them anyway with --across-clocks/);
    expect((await newestCompared(db)).json).toMatchObject({ counts: { incomparable: 2, same: 0 }, across: [] });
  });

  test('with --across-clocks the difference stands first', async () => {
    const { code, stdout } = await compare('--across-clocks');
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toMatch(/^compared anyway: clocks \w+ → locked 1590 MHz$/);
    const output = await jsonOf(OUTPUTS.compare, ['compare', ...SIDES, '--db', db, '--across-clocks']);
    const across = [expect.stringMatching(/^clocks \w+ → locked 1590 MHz$/)];
    expect(output).toMatchObject({ across, counts: { incomparable: 0, same: 2 } });
  });

  test('nights with other clocks are another history', async () => {
    expect((await bench(['check', '--db', db], { cwd: gpu.folder })).stdout).toContain('--across-clocks');
  });
});

async function linesOf(args: readonly string[], columns: number, env: Record<string, string> = {}) {
  const lines = (await bench(args, { env: { COLUMNS: String(columns), ...env } })).stdout.trimEnd().split('\n');
  expect(Math.max(...lines.map(textWidth))).toBeLessThanOrEqual(columns);
  return lines;
}

test('the table of a comparison: only the change has a color, and none without colors', async () => {
  const args = ['compare', ...SIDES, '--db', await sharedStore('pairs')];
  const row = (await linesOf(args, 200, { FORCE_COLOR: '1' })).find((line) => line.startsWith('slower ')) ?? '';
  const escape = String.fromCodePoint(27);
  expect(row.split(escape).length).toBe(5);
  expect(row).toContain(`${escape}[1m${escape}[31m+25.5 %${escape}[39m${escape}[22m`);
  expect((await linesOf(args, 200, { FORCE_COLOR: '1', NO_COLOR: '1' })).join('\n')).not.toContain(escape);
});

test('a bisection measured few cells of a commit: its full sweep stands for it', async () => {
  const commit = (night: number): string => (night % 2 === 0 ? 'a' : 'b').repeat(40);
  const nights = { repeats: 3, commit, value: (_: number, night: number) => (night % 2 === 0 ? 1 : 1.1) };
  const db = simulatedStore({ ...nights, cells: simulatedCells(3), nights: 2 });
  simulateNights(db, { ...nights, cells: simulatedCells(1), nights: 2, after: 2, branch: '(no branch, bisect)' });
  const { code, stdout } = await bench(['compare', 'aaaaaaaa', 'bbbbbbbb', '--db', db]);
  expect([code, stdout]).toEqual([1, expect.stringContaining('3 slower')]);
});

test('a difference that is known to be too small to report is the same, and no more runs are asked for', async () => {
  const normal = normals(9);
  const value = (_: number, night: number): number => (night === 1 ? 1.003 : 1) * Math.exp(0.0015 * normal());
  const db = simulatedStore({ cells: simulatedCells(1), nights: 2, repeats: 40, value });
  const { json } = await benchJson(OUTPUTS.compare, ['compare', 'latest~1', 'latest', '--db', db]);
  expect(json.cells).toMatchObject([{ verdict: 'same', changePercent: expect.closeTo(0.3, 1), moreRunsNeeded: null }]);
});

test('a regression of four sweeps that was mended is no noise of a later comparison', async () => {
  const normal = normals(7);
  const at = (night: number): number => (night >= 10 && night < 14 ? 1.2 : night === 18 ? 1.1 : 1);
  const value = (_: number, night: number): number => at(night) * Math.exp(0.0015 * normal());
  const db = simulatedStore({ cells: simulatedCells(1), nights: 19, repeats: 3, value });
  const { json } = await benchJson(OUTPUTS.compare, ['compare', 'latest~1', 'latest', '--db', db]);
  expect(json.cells).toMatchObject([{ verdict: 'slower', changePercent: expect.closeTo(10, 0) }]);
});

test('why prints the change that its interval is about, also where a run is far off', async () => {
  const runs = (_: number, night: number, repeat: number): number =>
    (night === 0 ? 1 : 1.08) * (1 + 0.0005 * repeat) * (night === 1 && repeat === 3 ? 0.85 : 1);
  const db = simulatedStore({ cells: simulatedCells(1), nights: 2, repeats: 4, value: runs });
  const { stdout } = await bench(['why', 'vit', sweepOfNight(0), sweepOfNight(1), '--json', '--db', db]);
  const [{ changePercent, ciPercent }] = JSON.parse(stdout).changes;
  expect([changePercent > ciPercent[0], changePercent < ciPercent[1]]).toEqual([true, true]);
});
