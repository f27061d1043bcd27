import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS } from '../../support/outputs.ts';
import { bench, sharedFolder } from '../../support/bench.ts';
import { sharedStore } from '../../support/made-stores.ts';
import { GUIDE } from '../../support/recordings.ts';

async function imported(db: string, listing: string, ...options: string[]): Promise<void> {
  const log = join(GUIDE, `${listing}-summary.log`);
  const shapes = ['--model', 'vit_large', '--shapes', 'input:128x3x224x224'];
  const { code, stderr } = await bench(['import', log, '--db', db, ...shapes, ...options]);
  expect([code, stderr]).toEqual([0, '']);
}

describe('the pair of the guide of TensorRT, imported', () => {
  let db: string;
  let slo: string[];
  let pareto: string[];

  beforeAll(async () => {
    db = join(sharedFolder(), 'bench.sqlite');
    await imported(db, 'listing-06-fp16', '--sweep', 'six', '--precision', 'fp16');
    await imported(db, 'listing-11-fp8', '--sweep', 'eleven', '--precision', 'fp8');
    pareto = ['choose', '--at', 'six', 'eleven', '--db', db];
    slo = ['choose', '--metric', 'median', '--at', 'six', 'eleven', '--db', db];
  });

  test('FP8 has 1.80 times the throughput, in images a second, and no verdict', async () => {
    const { code, stdout } = await bench([...pareto, '--json']);
    const json = OUTPUTS.pareto.parse(JSON.parse(stdout));
    const [fp16, fp8] = json.workloads[0] ?? [];
    expect([code, json.provenance, fp16?.precision, fp8?.precision]).toEqual([0, 'imported', 'fp16', 'fp8']);
    expect(fp16?.itemsPerS).toBeCloseTo(2463.97, 2);
    expect(fp8?.itemsPerS).toBeCloseTo(4432.37, 2);
    expect(fp8?.speedUp?.ratio).toBeCloseTo(1.7989, 4);
    expect(fp8?.speedUp?.verdict).toBe('unclear');
    expect(fp16?.speedUp).toBeNull();
    const text = (await bench(pareto, { env: { COLUMNS: '110' } })).stdout;
    expect(text).toMatch(/vit_large +fp16 .* 2464 /);
    expect(text).toMatch(/vit_large +fp8 .* 4432 .* 1\.80×\? /);
    expect(text).toContain('? 1 speed-up not yet significant (1 run per side); use --repeats 5');
    expect(text).toContain('accuracy not checked: vit_large fp16, vit_large fp8');
  });

  test('what an excerpt does not say of its options is unknown, in the store too', async () => {
    const { stdout } = await bench(['show', 'six', '--db', db, '--json']);
    const [shown] = JSON.parse(stdout).cells;
    expect(shown.label).toBe('vit_large fp16 128x3x224x224 options unknown');
    const { code, stdout: listed } = await bench(['ls', 'cells', '--db', db, '--json']);
    const [cell] = OUTPUTS.cells.parse(JSON.parse(listed)).cells;
    // Zeros of the summary say that nothing was copied.
    expect([code, cell?.cudaGraph, cell?.spinWait, cell?.dataTransfers]).toEqual([0, null, null, false]);
    const chosen = ['ls', 'cells', '--db', db, '--json', '--filter'];
    for (const filter of ['cudaGraph=on', 'cudaGraph=off']) {
      const { stdout: none } = await bench([...chosen, filter]);
      expect(none).not.toContain('options unknown');
    }
  });

  test('under 30 ms FP8 wins', async () => {
    const { code, stdout } = await bench([...slo, '--max-latency', '30', '--json']);
    const json = OUTPUTS.slo.parse(JSON.parse(stdout));
    expect(code).toBe(0);
    expect(json.models).toMatchObject([
      { candidates: 2, fitting: 1, winner: { precision: 'fp8', latencyMs: 28.9048 }, runnerUp: null },
    ]);
    const text = (await bench([...slo, '--max-latency', '30'])).stdout;
    expect(text).toContain('4432 items/s (34.63 qps)');
    expect(text).toContain('28.90 ms, 3.7 % below the limit; accuracy: not checked');
  });

  test('under 28 ms nothing fits: exit code 4 and the nearest', async () => {
    const { code, stdout } = await bench([...slo, '--max-latency', '28']);
    expect(code).toBe(4);
    expect(stdout).toContain('vit_large: none of 2 deployments is within the limits');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('0.9048 ms (3.2 %) over the limit');
  });

  test('with --min-sqnr an accuracy that nobody checked does not fit', async () => {
    const { code, stdout } = await bench([...slo, '--max-latency', '30', '--min-sqnr', '25']);
    expect(code).toBe(4);
    expect(stdout).toMatch(/its\s+accuracy is not checked/);
  });

  test('compare of the two logs as one cell: +79.9 % and no verdict', async () => {
    const own = join(sharedFolder(), 'bench.sqlite');
    await imported(own, 'listing-06-fp16', '--sweep', 'six');
    await imported(own, 'listing-11-fp8', '--sweep', 'eleven');
    const args = ['compare', 'six', 'eleven', '--metric', 'throughputQps', '--json', '--db', own];
    const { code, stdout } = await bench(args);
    const [cell] = OUTPUTS.compare.parse(JSON.parse(stdout)).cells;
    expect([code, cell?.verdict, cell?.runs]).toEqual([0, 'unclear', [1, 1]]);
    expect(cell?.changePercent).toBeCloseTo(79.887, 3);
  });
});

describe('a recorded night of FP16 and FP8', () => {
  let db: string;

  beforeAll(async () => {
    db = await sharedStore('night');
  }, 60_000);

  test('FP8 is slower, and the table says so without being asked', async () => {
    const { stdout } = await bench(['choose', '--db', db]);
    expect(stdout).toContain('recorded (night1)');
    expect(stdout.replaceAll('\n', ' ')).toContain(
      'FP8 is slower than FP16 in 12 of 12 pairs: 0.39× to 0.81× the throughput (no verdict: too few runs)',
    );
  });

  test('the speed-up and the word on accuracy stay on a narrow terminal', async () => {
    const { stdout } = await bench(['choose', '--db', db], { env: { COLUMNS: '60' } });
    expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(stdout).toContain('speed-up');
    expect(stdout).toContain('accuracy not checked');
  });

  test('an FP8 with a graph is dominated only where it is no smaller', async () => {
    const { stdout } = await bench(['choose', '--db', db, '--json', '--filter', 'model=vit_small']);
    const { workloads } = OUTPUTS.pareto.parse(JSON.parse(stdout));
    const byKey = new Map(workloads.flat().map((one) => [one.key, one]));
    const dominated = workloads.flat().filter(({ dominatedBy }) => dominatedBy !== null);
    expect([byKey.size, dominated.length]).toEqual([12, 6]);
    for (const one of dominated) {
      const better = byKey.get(one.dominatedBy ?? '');
      expect(one.label).toContain('no-graph');
      expect(better?.itemsPerS).toBeGreaterThan(one.itemsPerS ?? Infinity);
      expect(better?.latencyMs).toBeLessThan(one.latencyMs ?? 0);
      expect(better?.engineMib).toBeLessThanOrEqual(one.engineMib ?? 0);
    }
  });

  test('the winner is a deployment of the table', async () => {
    const args = ['--max-latency', '1.05', '--db', db, '--json'];
    const { models } = OUTPUTS.slo.parse(JSON.parse((await bench(['choose', ...args])).stdout));
    expect(models.map(({ model, winner, runnerUp }) => [model, winner?.label, runnerUp?.label])).toEqual([
      ['vit_base', 'vit_base fp16 8x3x224x224 graph transfers', 'vit_base fp16 1x3x224x224 graph transfers'],
      ['vit_small', 'vit_small fp16 32x3x224x224 graph transfers', 'vit_small fp16 8x3x224x224 graph transfers'],
    ]);
  });

  test.each([
    [['choose', '--min-sqnr', '20'], '--min-sqnr goes with --max-latency: add --max-latency MS'],
    [['choose', '--max-latency', '-1'], 'must be a number above 0'],
    [['choose', '--max-latency', '5', '--metric', 'mean'], '--max-latency limits p99, or latency (the median)'],
    [['choose', '--at', 'nowhere'], 'nowhere: neither a git revision here, nor a sweep'],
    [['choose', '--filter', 'model=none'], 'no cell of these sweeps passes the filter'],
  ])('wrong use is one line: %j', async (args, problem) => {
    const { code, stdout, stderr } = await bench([...args, '--db', db]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(problem);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test('results of different provenance make no table together', async () => {
    await imported(db, 'listing-06-fp16', '--sweep', 'six', '--precision', 'fp16');
    const { code, stderr } = await bench(['choose', '--at', 'latest', 'six', '--db', db]);
    expect(code).toBe(2);
    expect(stderr).toContain('recorded and imported');
  });
});
