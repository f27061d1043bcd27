import type { HarnessReading } from '../../records/harness.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import { percent } from './facts.ts';

const RULE = {
  /** With more, several queries may lie above p99. */
  mostRuns: 150,
  /** The largest time over p99, as a share of p99 ... */
  leastBeyond: 0.03,
  /** ... and in distances from the median to p99. */
  leastTails: 3,
} as const;

/** One query took far longer than all others, of which only the summary is known. */
export function loneOutlier({ latencyMs, method }: HarnessReading): RunFlag | null {
  const p99 = latencyMs?.percentiles['99'];
  const { timedRuns } = method;
  if (latencyMs === null || p99 === undefined || timedRuns === null) return null;
  if (timedRuns > RULE.mostRuns || !(p99 > 0)) return null;
  const beyond = latencyMs.max - p99;
  const tail = p99 - latencyMs.median;
  if (beyond < RULE.leastBeyond * p99 || beyond < RULE.leastTails * tail) return null;
  return {
    id: 'loneOutlier',
    effect: 'explained',
    value: (beyond / p99) * 100,
    evidence: `the largest of ${timedRuns} times, ${latencyMs.max} ms, is ${percent(beyond / p99)} over p99, ${p99} ms`,
  };
}
