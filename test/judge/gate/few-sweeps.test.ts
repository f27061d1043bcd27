import { expect, test } from 'vitest';

import type { GatedMetricId } from '../../../src/records/gated-metric.ts';
import { SimulatedGate } from '../../support/gate-evidence.ts';
import { simulatedCells } from '../../support/simulated-store.ts';
import { falseRate, foundAtOnce } from '../../../benchmarks/gate/simulate-few-sweeps.ts';

// The full figures: node benchmarks/few-sweeps.ts
test('few sweeps without a change are seldom an alarm: 2 % with pairs, 8 % without', () => {
  expect(falseRate(8, true, 4, 100)).toBeLessThanOrEqual(0.02);
  expect(falseRate(2, false, 12, 100)).toBeLessThanOrEqual(0.08);
});

test('3 % in one of 40 cells is reported in the sweep in which it begins', () => {
  expect(foundAtOnce(3, true, 2, 200)).toBe(1);
});

/**
 * The first two sweeps of ten cells on an H100 (docs/real-gpus.md), nothing changed: median/p99 in ms of the two runs of
 * the first and of the second, of .3 s each. The p99 of the second cell was 10 % higher in both runs of the first.
 */
const UNCHANGED = `
0.159454/0.16227 0.159088/0.160927 0.15892/0.161247 0.159134/0.16275
0.168457/0.188927 0.168182/0.190018 0.168182/0.171104 0.168274/0.171585
0.185791/0.188705 0.185089/0.189342 0.184937/0.187836 0.185028/0.187836
0.208832/0.212257 0.208923/0.211903 0.208649/0.212929 0.208557/0.211166
0.31424/0.317032 0.314056/0.317108 0.313431/0.318146 0.314651/0.317535
0.342712/0.348068 0.341003/0.349121 0.341553/0.34761 0.342979/0.350815
0.351074/0.358177 0.351395/0.359169 0.351425/0.358177 0.351135/0.35965
0.377441/0.385574 0.377289/0.385406 0.37735/0.385281 0.37709/0.38496
0.406067/0.413277 0.406158/0.413342 0.406113/0.412064 0.406715/0.412544
0.568268/0.576447 0.569092/0.580063 0.567619/0.580318 0.568466/0.573669`;

test('a p99 that jumps in both short runs of a sweep is no finding in the next one, a median that changes as much is', () => {
  const rows = UNCHANGED.trim()
    .split('\n')
    .map((line) => line.split(' ').map((run) => run.split('/').map(Number)));
  const columns: Partial<Record<GatedMetricId, number>> = { gpuComputeMs: 0, p99Ms: 1 };
  const second = (metrics: readonly GatedMetricId[], column: number | null) => {
    const values = (cell: number, sweep: number, metric: GatedMetricId): number[] =>
      (rows[cell] ?? [])
        .slice(2 * sweep, 2 * sweep + 2)
        .map((run) => run[column ?? columns[metric] ?? 0] ?? Number.NaN);
    const gate = new SimulatedGate({ cells: simulatedCells(10), metrics, values });
    gate.next();
    return gate.next().findings.flatMap(({ direction, cells }) => cells.map(({ metric }) => [direction, metric]));
  };
  expect(rows.map((runs) => runs.length)).toEqual(Array.from({ length: 10 }, () => 4));
  expect(second(['gpuComputeMs', 'p99Ms'], null)).toEqual([]);
  // The same numbers as medians.
  expect(second(['gpuComputeMs'], 1)).toEqual([['faster', 'gpuComputeMs']]);
});
