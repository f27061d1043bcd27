import { describe, expect, test } from 'vitest';

import { answerSlo } from '../../../src/features/choose/slo.ts';
import { deploymentsOf, workloadsOf } from '../../../src/judge/deployment.ts';
import { choiceColumns } from '../../../src/features/choose/pareto-text.ts';
import { choicesOf, dominatorsOf, speedUpsOf, tallyPrecisions } from '../../../src/features/choose/pareto.ts';
import { accuracyOf, choiceCell, deployment } from '../../support/deployments.ts';
import { NO_VALUES } from '../../support/no-values.ts';

const one = deployment(choiceCell('fp16', 1), 1);
const eight = deployment(choiceCell('fp16', 8), 4);
const large = deployment(choiceCell('fp16', 32), 20);

test('the limit is about the metric: a p99 above it does not fit', () => {
  const limits = { maxLatencyMs: 4, minSqnrDb: null };
  expect(answerSlo([eight], { ...limits, metric: 'median' })?.fitting).toBe(1);
  expect(answerSlo([eight], { ...limits, metric: 'p99' })?.fitting).toBe(0);
});

test.each([
  ['less than it', { ...eight, accuracy: accuracyOf(20) }, 'missed'],
  ['as much', { ...one, accuracy: accuracyOf(25) }, 'kept'],
  ['equal outputs', { ...one, accuracy: accuracyOf(null) }, 'kept'],
  ['what nobody has checked', large, 'notChecked'],
  ['FP32, the reference itself', deployment(choiceCell('fp32', 1), 2), 'kept'],
])('under --min-sqnr: %s', (_, found, accuracyLimit) => {
  const answer = answerSlo([found], { maxLatencyMs: 100, metric: 'median', minSqnrDb: 25 });
  const expected = [accuracyLimit === 'kept' ? 1 : 0, accuracyLimit];
  expect([answer?.fitting, (answer?.winner ?? answer?.nearest)?.accuracyLimit]).toEqual(expected);
});

test('other sample shapes and ways of measuring are other workloads; batch, graph and precision are the choice', () => {
  const same = [choiceCell('fp8', 1), choiceCell('fp16', 8, { cudaGraph: false })];
  const other = [
    choiceCell('fp16', 1, { shapes: { input: [1, 3, 384, 384] } }),
    choiceCell('fp16', 1, { dataTransfers: false }),
    choiceCell('fp16', 1, { model: 'other' }),
  ];
  const found = workloadsOf([...same, ...other].map((cell) => deployment(cell, 1)));
  expect(found.map((workload) => workload.length)).toEqual([2, 1, 1, 1]);
});

test('only measured timed runs count, by their median; other cells are named', () => {
  const cell = choiceCell('fp16', 8);
  const failed = choiceCell('fp8', 8);
  // Of 100 queries a second: 4 W.
  const energyOf = (qps: number) => (qps === 90 ? null : 4000 / qps);
  const values = (qps: number) => {
    return { ...NO_VALUES, latencyMs: 1000 / qps, throughputQps: qps, engineMib: 3, energyPerQueryMj: energyOf(qps) };
  };
  const run = (qps: number, role: 'timed' | 'profile' = 'timed') => ({
    cellKey: cell.key,
    role,
    outcome: { kind: 'measured' as const, evidence: [] },
    flags: [],
    values: values(qps),
    centres: {},
    derivedQps: null,
  });
  const facts = { accuracy: new Map(), realPrecisionShare: new Map(), efficiency: new Map(), tunedBatch: new Map() };
  const runs = [run(100), run(102), run(90), run(1, 'profile')];
  const { measured, unmeasured } = deploymentsOf([cell, failed], runs, facts);
  expect(measured).toMatchObject([{ throughputQps: 100, itemsPerS: 800, latencyMs: 10, engineMib: 3 }]);
  expect([measured[0]?.runsQps, unmeasured]).toEqual([[100, 102, 90], [failed]]);
  // Two runs with telemetry, 40 and 39.216 mJ: t of one degree is 12.706.
  const [{ energy = null } = {}] = measured;
  expect(energy).toMatchObject({ runs: 2 });
  expect(energy).toMatchObject({ perQueryMj: expect.closeTo(39.608, 3), perItemMj: expect.closeTo(39.608 / 8, 4) });
  expect(energy?.intervalPercent).toBeCloseTo((100 * 12.7062 * 0.39216) / 39.608, 2);
});

describe('the front', () => {
  const fp16 = deployment(choiceCell('fp16', 8), 1, { engineMib: 10 });
  const fp8 = (latencyMs: number, engineMib: number | null = null) =>
    deployment(choiceCell('fp8', 8), latencyMs, { engineMib });
  const larger = deployment(choiceCell('fp16', 32), 3, { engineMib: 10 });
  const int8 = deployment(choiceCell('int8', 8), 1);
  const launched = (latencyMs: number, engineMib: number | null) =>
    deployment(choiceCell('fp16', 8, { cudaGraph: false }), latencyMs, { engineMib });
  const checked = <One extends object>(bare: One, sqnrDb: number | null) => ({ ...bare, accuracy: accuracyOf(sqnrDb) });

  test('a slower FP8 of no smaller size is dominated by FP16, whatever its accuracy', () => {
    const slower = fp8(2, 10);
    expect(dominatorsOf([fp16, slower])).toEqual(new Map([[slower, fp16]]));
  });

  test.each([
    ['a smaller engine keeps a slower one on the front', fp16, fp8(2, 5)],
    ['a faster FP8 never dominates FP16 while nobody has checked its accuracy', fp16, fp8(0.5, 5)],
    ['INT8 and FP8 are told apart only by measured accuracy', fp8(2), int8],
    ['less than 1 % is the scatter of runs', fp16, launched(1.005, 10)],
    ['what only one side knows proves nothing', fp16, launched(2, null)],
    ['more throughput and more latency is another choice', fp16, larger],
  ])('%s', (_, first, second) => expect(dominatorsOf([first, second])).toEqual(new Map()));

  test.each([
    ['an exact FP8 beats a rounded FP16', checked(fp16, 60), checked(fp8(0.5, 5), null)],
    ['INT8 that was measured to be better', checked(fp8(2), 20), checked(int8, 30)],
    ['latencies more than 1 % apart', { ...launched(1.005, 10), latencyMs: 1.02, p99Ms: 1.03 }, fp16],
  ])('%s', (_, worse, better) => expect(dominatorsOf([worse, better])).toEqual(new Map([[worse, better]])));
});

describe('speed-ups', () => {
  const runs = (qps: number): number[] => [0.998, 1, 1.002, 0.999, 1.001].map((part) => part * qps);
  const measured = (precision: 'fp32' | 'fp16' | 'fp8', batch: number, ms: number) =>
    deployment(choiceCell(precision, batch), ms, { runsQps: runs(1000 / ms), runsLatencyMs: runs(ms) });

  const pairs = (length: number, fp8Ms: number) =>
    Array.from({ length }, (_, index) => [measured('fp16', index + 1, 1), measured('fp8', index + 1, fp8Ms)]).flat();

  test('a slowdown that all pairs share is the answer and not a shift to take off', () => {
    const all = pairs(12, 2);
    const speedUps = speedUpsOf(all);
    expect(speedUps.size).toBe(12);
    for (const { interval, latencyInterval, latencyRatio, latencyVerdict, ratio, verdict } of speedUps.values()) {
      expect([verdict, ratio, latencyVerdict, latencyRatio]).toEqual(['slower', 0.5, 'slower', 0.5]);
      for (const bound of [0, 1]) expect(latencyInterval?.[bound]).toBeCloseTo(interval?.[bound] ?? NaN, 6);
      expect(interval?.[0]).toBeGreaterThan(0.49);
      expect(interval?.[1]).toBeLessThan(0.51);
    }
    expect(tallyPrecisions(all, speedUps)).toMatchObject([
      { precision: 'fp8', pairs: 12, slower: 12, leastRatio: 0.5 },
    ]);
    const rows = choicesOf(all)
      .flat()
      .slice(1, 2)
      .map((choice) => ({ ...choice, cell: eight.cell }));
    const cells = choiceColumns(rows).flatMap((column) => rows.map((row) => [column.header, column.text(row)]));
    expect(cells).toContainEqual(['latency speed-up', '0.50× (0.50 … 0.50×)']);
  });

  test('a pair that is the same is neither faster nor slower, whatever its ratio', () => {
    const all = pairs(4, 0.9999);
    const speedUps = speedUpsOf(all);
    expect([...speedUps.values()].map(({ verdict }) => verdict)).toEqual(Array(4).fill('same'));
    const [tally] = tallyPrecisions(all, speedUps);
    expect([tally?.pairs, tally?.slower, tally?.faster]).toEqual([4, 0, 0]);
  });

  test('the reference is FP16, without it FP32; cells that differ in more are no pair', () => {
    const fp32 = measured('fp32', 8, 4);
    const fp16 = measured('fp16', 8, 2);
    const fp8 = measured('fp8', 8, 1);
    const withAll = speedUpsOf([fp32, fp16, fp8, measured('fp8', 32, 1)]);
    expect([...withAll].map(([key, { referenceKey, ratio }]) => [key, referenceKey, ratio])).toEqual([
      [fp32.cell.key, fp16.cell.key, 0.5],
      [fp8.cell.key, fp16.cell.key, 2],
    ]);
    expect(speedUpsOf([fp32, fp8]).get(fp8.cell.key)?.ratio).toBe(4);
  });
});
