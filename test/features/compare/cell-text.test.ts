import { describe, expect, test } from 'vitest';

import { comparedCellText, type ShownCell } from '../../../src/features/compare/cell-text.ts';
import { metricOf } from '../../../src/records/metric.ts';
import { makeLook } from '../../../src/terminal/look.ts';
import { cellLabel } from '../../../src/records/cell-label.ts';
import { choiceCell } from '../../support/deployments.ts';

function reported(
  comparison: Partial<ShownCell>,
  metric: 'gpuComputeMs' | 'throughputQps' | 'engineMib' = 'gpuComputeMs',
): string[] {
  const cell = choiceCell('fp16', 8);
  const whole: ShownCell = {
    key: 'k',
    label: cellLabel(cell),
    cell,
    metric,
    unit: metricOf(metric).unit,
    betterIs: metricOf(metric).betterIs,
    verdict: 'slower',
    base: 0.4,
    head: 0.5,
    changePercent: 25,
    ciPercent: [24, 26],
    mdePercent: 0.5,
    runs: [3, 3],
    moreRunsNeeded: null,
    noise: null,
    reasons: [],
    cause: null,
    values: [
      [0.398, 0.4, 0.402],
      [0.5, 0.5, 0.5],
    ],
    ...comparison,
  };
  return comparedCellText(whole, makeLook(100, false));
}

describe('one compared cell', () => {
  test.each([
    // The interval is turned round.
    [
      { verdict: 'faster', changePercent: -20, ciPercent: [-25, -15] },
      'gpuComputeMs',
      'head is 1.250 times faster than base (1.176 to 1.333, 95 %)',
    ],
    // Of throughput more is better, and an engine is not fast but large.
    [
      { verdict: 'faster', changePercent: 150, ciPercent: null },
      'throughputQps',
      'head is 2.50 times faster than base',
    ],
    [{ changePercent: 10, ciPercent: null }, 'engineMib', 'head has 1.100 times the engine size of base'],
    // Without a verdict nobody is called faster.
    [
      { verdict: 'unclear', changePercent: 1, ciPercent: [-1, 3], mdePercent: 3 },
      'gpuComputeMs',
      'head is 1.010 times base (0.990 to 1.030, 95 %)',
    ],
  ] as const)('%j of %s: %s', (comparison, metric, text) => {
    expect(reported(comparison, metric).slice(1)).toContain(text);
  });
});
