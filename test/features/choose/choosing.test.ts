import { join } from 'node:path';

import { beforeAll, describe, expect, test } from 'vitest';

import { OUTPUTS, benchJson, jsonOf } from '../../support/outputs.ts';
import { bench, sharedFolder, refusal } from '../../support/bench.ts';
import { sharedStore } from '../../support/made-stores.ts';
import { GUIDE } from '../../support/recordings.ts';

async function imported(db: string, listing: string, ...options: string[]): Promise<void> {
  const log = join(GUIDE, `${listing}-summary.log`);
  const shapes = ['--model', 'vit_large', '--shapes', 'input:128x3x224x224'];
  expect(await bench(['import', log, '--db', db, ...shapes, ...options])).toMatchObject({ code: 0, stderr: '' });
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
    slo = ['choose', '--metric', 'latency', '--at', 'six', 'eleven', '--db', db];
  });

  test('FP8 has 1.80 times the throughput, in images a second, and no verdict', async () => {
    const { code, json } = await benchJson(OUTPUTS.pareto, [...pareto]);
    const [fp16, fp8] = json.workloads[0] ?? [];
    expect([code, json.provenance, fp16?.precision, fp8?.precision]).toEqual([0, 'imported', 'fp16', 'fp8']);
    expect(fp16?.itemsPerS).toBeCloseTo(2463.97, 2);
    expect([fp8?.itemsPerS, fp8?.speedUp?.ratio]).toEqual([expect.closeTo(4432.37, 2), expect.closeTo(1.7989, 4)]);
    expect([fp8?.speedUp?.verdict, fp16?.speedUp]).toEqual(['unclear', null]);
    const text = (await bench(pareto, { env: { COLUMNS: '110' } })).stdout;
    expect(text).toMatch(/vit_large +fp16 .* 2464 /);
    expect(text).toMatch(/vit_large +fp8 .* 4432 .* 1\.80×\? /);
    expect(text).toContain('accuracy not checked: vit_large fp16, vit_large fp8');
  });

  test('without --at, what other imports have is left out, and the output says so', async () => {
    const { notes, sweepIds } = (await benchJson(OUTPUTS.pareto, ['choose', '--db', db])).json;
    expect([sweepIds.length, notes]).toEqual([1, ['1 cell of other matrices or imports left out: --at names a sweep']]);
    expect((await jsonOf(OUTPUTS.pareto, pareto)).notes).toEqual([]);
  });

  test('what an excerpt does not say of its options is unknown, in the store too', async () => {
    const [shown] = (await jsonOf(OUTPUTS.run, ['show', 'six', '--db', db])).cells;
    expect(shown?.label).toBe('vit_large fp16 128x3x224x224 options unknown');
    const { code, json } = await benchJson(OUTPUTS.cells, ['ls', 'cells', '--db', db]);
    const [cell] = json.cells;
    // Zeros of the summary say that nothing was copied.
    expect([code, cell?.cudaGraph, cell?.spinWait, cell?.dataTransfers]).toEqual([0, null, null, false]);
    const graphs = await bench(['ls', 'cells', '--db', db, '--json', '--filter', 'cudaGraph=on | cudaGraph=off']);
    expect(graphs.stdout).not.toContain('options unknown');
  });

  test('under 30 ms FP8 wins', async () => {
    const { code, json } = await benchJson(OUTPUTS.slo, [...slo, '--max-latency', '30']);
    expect(code).toBe(0);
    expect(json.models).toMatchObject([
      { candidates: 2, fitting: 1, winner: { precision: 'fp8', latencyMs: 28.9048 }, runnerUp: null },
    ]);
    const text = (await bench([...slo, '--max-latency', '30'])).stdout;
    expect(text).toContain('4432 items/s (34.63 qps)');
    expect(text).toContain('28.90 ms, 3.7 % below the limit; no larger batch in the matrix; accuracy: not checked');
    expect(text).toMatch(/^ *\* +vit_large +fp16 /m);
    expect(text).toMatch(/^✓ +\* +vit_large +fp8 .*\n(?:.*\n)*✓ within the limits$/m);
  });

  test('under 28 ms nothing fits: exit code 4 and the nearest', async () => {
    const { code, stdout } = await bench([...slo, '--max-latency', '28']);
    expect(code).toBe(4);
    expect(stdout).toContain('vit_large: none of 2 deployments is within the limits');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('0.9048 ms (3.2 %) over the limit');
  });
});

describe('a recorded night of FP16 and FP8', () => {
  let db: string;

  beforeAll(async () => {
    db = await sharedStore('night');
  }, 60_000);

  test('a limit has any unit; the largest batch within it is named as such', async () => {
    const at = async (...args: string[]) => (await bench(['choose', ...args, '--db', db])).stdout;
    const bare = await at('--max-latency', '5');
    expect(bare).toContain('below the limit; no larger batch in the matrix; accuracy: ');
    for (const limit of ['5ms', '5000us', '0.005 s']) expect(await at('--max-latency', limit)).toBe(bare);
    expect(await at('--max-latency', '5', '--filter', 'batch<32')).not.toContain('no larger batch');
    expect(await at('--max-latency', '0.9')).not.toContain('no larger batch');
  });

  test('the winner is a deployment of the table', async () => {
    const { models } = await jsonOf(OUTPUTS.slo, ['choose', '--max-latency', '1.05', '--db', db]);
    expect(models.map(({ model, winner, runnerUp }) => [model, winner?.label, runnerUp?.label])).toEqual([
      ['vit_base', 'vit_base fp16 8x3x224x224 graph transfers', 'vit_base fp16 1x3x224x224 graph transfers'],
      ['vit_small', 'vit_small fp16 32x3x224x224 graph transfers', 'vit_small fp16 8x3x224x224 graph transfers'],
    ]);
  });

  test.each([
    [
      ['choose', '--max-latency', '5min'],
      "option '--max-latency <time>' argument '5min' is invalid: must be a time above 0, such as 5, 5ms, 800us or 0.1s; without a unit it is in ms (see --help)",
    ],
    [['choose', '--min-sqnr', '20'], '--min-sqnr needs --max-latency: add --max-latency MS'],

    [['choose', '--max-latency', '5', '--metric', 'mean'], 'Allowed choices are p99, latency'],

    [['choose', '--filter', 'model=none'], 'no cell of these sweeps matches the filter'],
  ])('wrong use is one line: %j', async (args, problem) => {
    expect(await bench([...args, '--db', db])).toEqual(refusal(problem));
  });

  test('one table cannot mix them', async () => {
    await imported(db, 'listing-06-fp16', '--sweep', 'six', '--precision', 'fp16');
    expect(await bench(['choose', '--at', 'latest', 'six', '--db', db])).toEqual(refusal('recorded and imported'));
  });
});
