import { expect, test } from 'vitest';

import type { GatedMetricId } from '../../../src/records/gated-metric.ts';
import { alarms, SimulatedGate } from '../../support/gate-evidence.ts';
import { simulatedCells } from '../../support/simulated-store.ts';

/** In which sweeps there is an alarm. */
function alarmed(metric: GatedMetricId, values: readonly number[]): number[] {
  const gate = new SimulatedGate({
    cells: simulatedCells(1),
    metrics: ['gpuComputeMs', metric],
    values: (_, sweep, of) => (of === metric ? [values[sweep] ?? 0] : [2, 2.001, 2.002]),
  });
  return values.flatMap((_, sweep) => (alarms(gate.next(), sweep).length > 0 ? [sweep] : []));
}

const ZEROS = Array.from({ length: 12 }, () => 0);

test.each<[string, GatedMetricId, number[], number[]]>([
  ['two percent more memory is within its range', 'engineMib', [100, 101.9, 100], []],
  ['more is a finding at once, and once', 'engineMib', [100, 101, 104, 104, 104], [2]],
  ['the old size, and the larger one again', 'contextMib', [100, 104, 100, 100, 100, 100, 100, 104], [1, 7]],
  ['less memory is no alarm', 'engineMib', [100, 90, 90], []],
  ['five points of precision', 'precisionSharePercent', [98, 93.5, 87], [2]],
  ['a decibel of accuracy', 'sqnrDb', [40, 39.1, 37], [2]],
  ['builds only warn', 'buildS', [60, 60, 60, 60, 600], []],
  ['every run waits for the host: the second sweep', 'hostBoundPercent', [...ZEROS, 100, 100, 100], [13]],
  ['some runs of each sweep: the fourth', 'hostBoundPercent', [...ZEROS, 100, 67, 33, 33, 33], [15]],
  ['every run waits for its copies', 'h2dBoundPercent', [...ZEROS, 100, 100, 100], [13]],
  ['and those from the GPU', 'd2hBoundPercent', [...ZEROS, 100, 100], [13]],
  ['a cap that holds the clock down from now on', 'powerBoundPercent', [...ZEROS, 100, 100], [13]],
  ['one sweep is none', 'hostBoundPercent', [...ZEROS, 100, 0, 0], []],
  ['a cell that waited before', 'hostBoundPercent', [33, 0, 0, 0, 100, 100, 100], []],
])('%s', (_, metric, values, expected) => {
  expect(alarmed(metric, values)).toEqual(expected);
});

test('the old size again is a recovery, and no news', () => {
  const sizes = [24, 24, 41, 24];
  const gate = new SimulatedGate({
    cells: simulatedCells(1),
    metrics: ['gpuComputeMs', 'engineMib'],
    values: (_, sweep, of) => (of === 'engineMib' ? [sizes[sweep] ?? 0] : [2, 2.001, 2.002]),
  });
  const states = sizes.map(() => gate.next().findings.map(({ direction, state }) => `${direction} ${state}`));
  expect(states).toEqual([[], [], ['slower open'], ['slower recovered']]);
});
