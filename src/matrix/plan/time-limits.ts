import type { RunMethod } from '../matrix.ts';
import type { PlannedLimits, PlannedRun } from '../../records/plan.ts';
import { NO_PHASE_LIMITS } from '../../records/time-limit.ts';

/** A build may be silent for long and has one limit; its first output comes at once. */
export function buildLimits(firstOutputS: number | null): PlannedLimits {
  return { ...NO_PHASE_LIMITS, firstOutputS: firstOutputS ?? FIRST_OUTPUT_S, wholeS: null };
}

const FIRST_OUTPUT_S = 300;
const LOAD_S = 300;
/** CUDA graph capture and the first, slow inference precede the warm-up. */
const TIMED_PART_S = 120;
const END_S = 120;
/** Slow models exceed the duration: the minimum number of iterations counts too. */
const SLACK = 5;
/** trtexec's own: this many iterations hardly ever take longer than the duration. */
const USUAL_ITERATIONS = 10;

/** Limits for the parts of a run. The timed part follows from warm-up and duration, unless other settings decide. */
export function runLimits(method: RunMethod, role: PlannedRun['role']): PlannedLimits {
  const onceS = method.warmUpMs / 1000 + method.durationS;
  const isKnown = method.iterations <= USUAL_ITERATIONS && PAUSES.every((flag) => method.flags[flag] === undefined);
  const { limits } = method;
  const endS = role === 'profile' ? LOAD_S + SLACK * onceS : END_S;
  return {
    firstOutputS: limits.firstOutputS ?? FIRST_OUTPUT_S,
    loadS: limits.loadS ?? LOAD_S,
    timedPartS: limits.timedPartS ?? (isKnown ? TIMED_PART_S + SLACK * onceS : null),
    endS: limits.endS ?? (isKnown || role === 'timed' ? endS : null),
    wholeS: method.timeoutS,
  };
}

const PAUSES = ['--sleepTime', '--idleTime'];
