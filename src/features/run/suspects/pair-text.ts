import type { PairResult } from '../../../judge/gate/evidence.ts';
import { isSameEngine } from '../../../judge/gate/pair-runs.ts';
import { gatedMetricOf } from '../../../records/gated-metric.ts';
import type { PlannedPairs } from '../../../records/planned-pairs.ts';
import { formatPercent } from '../../../terminal/numbers.ts';

/** One line: what the pairs of a cell say. `label` is printable. */
export function pairText(
  label: string,
  planned: PlannedPairs,
  result: PairResult,
  gpu: string | null,
  upgrade: string | null,
): string {
  const { agreeing, changePercent, count, outcome } = result;
  const good = `the engine of sweep ${planned.lastGoodSweepId.slice(0, 8)}`;
  const change = `${gatedMetricOf(planned.metric).label} ${formatPercent(changePercent)}`;
  const pairs = `${change} in ${agreeing} of ${count} pairs with ${good}${upgrade === null ? '' : `, ${upgrade}`}`;
  const where = gpu ?? 'the machine';
  if (isSameEngine(planned) && outcome !== 'notComparable') {
    return outcome === 'machine'
      ? `${label}: nothing was rebuilt since sweep ${planned.lastGoodSweepId.slice(0, 8)}, and ${change} in more runs: ${where} or its environment`
      : `${label}: back at its reference in more runs of the same engine: recovered`;
  }
  switch (outcome) {
    case 'confirmed':
      return `${label}: ${pairs}: the engine`;
    case 'buildLuck':
      return `${label}: ${pairs}, and both are made of the same sources: build luck`;
    case 'machine':
      return `${label}: ${good} is as slow now: ${where}, not the engine`;
    case 'cleared':
      return `${label}: no difference to ${good} (${change} in ${count} pairs): recovered`;
    case 'notComparable':
      return `${label}: not compared with ${good}: ${planned.problem ?? 'it does not load, or too few of its runs could be used'}`;
  }
}
