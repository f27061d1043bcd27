import type { RunFlag } from '../../records/run-flag.ts';
import type { ComputeTimes, FitnessFacts } from './facts.ts';

/** Step over median from which the timer is told: half of it is what a single time may be off. */
const VISIBLE_PERCENT = 0.2;
/** The timer gets coarser as a run goes on: its last queries say how coarse it became. */
const LAST_QUERIES = 256;
/** On a grid times come back: more distinct ones among them are no grid. */
const DISTINCT_SHARE = 0.5;

/** The steps of the timer are visible in the times of the queries. */
export function coarseTimer(facts: FitnessFacts, compute: ComputeTimes | null): RunFlag | null {
  const seen = compute === null ? stepByLength(facts) : stepSeen(compute);
  const medianMs = compute?.medianMs ?? facts.log.measurement?.gpuComputeMs.median ?? 0;
  if (seen === null || medianMs <= 0) return null;
  const stepPercent = (seen / medianMs) * 100;
  if (stepPercent < VISIBLE_PERCENT) return null;
  return {
    id: 'coarseTimer',
    effect: 'widened',
    value: stepPercent,
    evidence: `the timer's step of ${Number((seen * 1000).toPrecision(3))} µs is ${stepPercent.toFixed(2)} % of the median`,
  };
}

function stepSeen({ inOrder, medianMs }: ComputeTimes): number | null {
  const last = inOrder.slice(-LAST_QUERIES).toSorted();
  let distinct = 1;
  let step = Number.POSITIVE_INFINITY;
  for (let i = 1; i < last.length; i += 1) {
    const gap = (last[i] ?? 0) - (last[i - 1] ?? 0);
    if (gap <= 1e-9 * medianMs) continue;
    distinct += 1;
    step = Math.min(step, gap);
  }
  return distinct > 1 && distinct <= DISTINCT_SHARE * last.length ? step : null;
}

/** Of the mantissa of a float32, with the leading bit. */
const FLOAT_BITS = 24;

/**
 * Milliseconds between neighbouring float32 numbers at the end of the run: trtexec subtracts two event times that count
 * from before the warm-up.
 */
function stepByLength({ log }: FitnessFacts): number | null {
  const walltimeS = log.measurement?.hostWalltimeS ?? 0;
  const endMs = walltimeS * 1000 + (log.options.warmUpMs ?? 0);
  return endMs > 0 ? 2 ** (Math.floor(Math.log2(endMs)) + 1 - FLOAT_BITS) : null;
}
