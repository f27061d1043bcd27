import { median } from '../../statistics/median.ts';
import type { RunFlag } from '../../records/run-flag.ts';
import { at, type ComputeTimes } from './facts.ts';

/** Change from the first to the last quarter. The power-limited cells, whose clock falls in the first second, have up to 3.5 %. */
const LEAST_CHANGE = 0.07;
/** ... and in deviations of the queries within the quarters. */
const LEAST_DEVIATIONS = 3;

/** The times of the queries went on changing over the run. */
export function drifting({ inOrder }: ComputeTimes): RunFlag | null {
  const quarter = inOrder.length >> 2;
  const first = inOrder.slice(0, quarter).toSorted();
  const last = inOrder.slice(-quarter).toSorted();
  const [before, after] = [at(first, 0.5), at(last, 0.5)];
  const change = after / before - 1;
  if (Math.abs(change) < LEAST_CHANGE) return null;
  const deviation = Math.max(deviationOf(first, before), deviationOf(last, after));
  if (Math.abs(after - before) < LEAST_DEVIATIONS * deviation) return null;
  const size = Math.abs(change * 100).toFixed(1);
  return {
    id: 'drifting',
    effect: 'widened',
    value: Math.abs(change) * 100,
    evidence: `the last quarter of the queries is ${size} % ${change > 0 ? 'slower' : 'faster'} than the first`,
  };
}

/** By the median absolute deviation. */
function deviationOf(sorted: Float64Array, middle: number): number {
  return 1.4826 * (median([...sorted].map((value) => Math.abs(value - middle))) ?? 0);
}
