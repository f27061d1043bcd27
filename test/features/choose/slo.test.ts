import { expect, test } from 'vitest';

import { answerSlo } from '../../../src/features/choose/slo.ts';
import { deploymentsOf, workloadsOf } from '../../../src/judge/deployment.ts';
import { accuracyOf, choiceCell, deployment } from '../../support/deployments.ts';

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
  expect([answer?.fitting, (answer?.winner ?? answer?.nearest)?.accuracyLimit]).toEqual([
    accuracyLimit === 'kept' ? 1 : 0,
    accuracyLimit,
  ]);
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
  const values = (qps: number) => ({
    latencyMs: 1000 / qps,
    throughputQps: qps,
    p99Ms: null,
    engineMib: 3,
    contextMib: null,
    buildS: null,
    loadS: null,
    refitMs: null,
    memoryMib: null,
    // Of 100 queries a second: 4 W.
    energyPerQueryMj: qps === 90 ? null : 4000 / qps,
  });
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
  const { measured, unmeasured } = deploymentsOf(
    [cell, failed],
    [run(100), run(102), run(90), run(1, 'profile')],
    facts,
  );
  expect(measured).toMatchObject([{ throughputQps: 100, itemsPerS: 800, latencyMs: 10, engineMib: 3 }]);
  expect(measured[0]?.runsQps).toEqual([100, 102, 90]);
  expect(unmeasured).toEqual([failed]);
  // Two runs with telemetry, 40 and 39.216 mJ: t of one degree is 12.706.
  const [{ energy = null } = {}] = measured;
  expect(energy).toMatchObject({ runs: 2 });
  expect(energy?.perQueryMj).toBeCloseTo(39.608, 3);
  expect(energy?.perItemMj).toBeCloseTo(39.608 / 8, 4);
  expect(energy?.intervalPercent).toBeCloseTo((100 * 12.7062 * 0.39216) / 39.608, 2);
});
