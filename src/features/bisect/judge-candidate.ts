import { meanLog } from '../../statistics/logarithms.ts';

/** Positive values in the order of runs. */
export interface EndRuns {
  readonly values: readonly number[];
  /** How many of the last ones alternated with the candidate's. */
  readonly inTurn: number;
}

export interface CandidateRuns {
  readonly good: EndRuns;
  readonly bad: EndRuns;
  readonly candidate: readonly number[];
  /** Runs of earlier candidates show the scatter. */
  readonly others: readonly (readonly number[])[];
  /** This many candidates share the wrong answers that the search may give. */
  readonly tests: number;
}

export interface CandidateDecision {
  readonly kind: 'good' | 'bad' | 'more';
  /** Estimated drift of the machine since the ends were measured. */
  readonly driftPercent: number;
}

const LEAST_CANDIDATE_RUNS = 2;
/** Probability of any wrong verdict in a search. */
const WRONG = 0.03;
/** Equal values still differ by the resolution of the timer. */
const LEAST_VARIANCE = 1e-12;

/**
 * Whether a candidate is at the level of the good or of the bad end; called after each run. Sequential probability
 * ratio test (Wald 1945): looking after every run costs nothing, and of all tests with these errors it needs the fewest
 * runs. Levels and noise are estimates, so densities are Student's, with noise pooled over all measurements.
 */
export function judgeCandidate(runs: CandidateRuns): CandidateDecision {
  const { good, bad, candidate, tests } = runs;
  const { variance, degrees } = pooledNoise(runs);
  const drift = driftOf(good, bad, variance);
  const driftPercent = Math.expm1(drift.level) * 100;
  if (candidate.length < LEAST_CANDIDATE_RUNS) return { kind: 'more', driftPercent };
  const value = meanLog(candidate);
  const at = ({ values }: EndRuns, level: number): number => {
    const ownVariance = variance * (1 / candidate.length + 1 / values.length + drift.variance);
    const squared = (value - level) ** 2 / ownVariance;
    return -((degrees + 1) / 2) * Math.log1p(squared / degrees) - Math.log(ownVariance) / 2;
  };
  const ratio = at(bad, levelOf(bad, drift)) - at(good, levelOf(good, drift));
  const wanted = Math.log(Math.max(1, tests) / WRONG);
  const kind = Math.abs(ratio) < wanted ? 'more' : ratio > 0 ? 'bad' : 'good';
  return { kind, driftPercent };
}

interface Drift {
  /** Log scale. */
  readonly level: number;
  /** 0 when the ends agree with their earlier level, up to 1. */
  readonly weight: number;
  /** Added uncertainty, in variances of a run. */
  readonly variance: number;
}

const NO_DRIFT: Drift = { level: 0, weight: 0, variance: 0 };

/**
 * How far the ends' runs of this step lie from the earlier ones, shrunk by how well that is known (positive part of
 * James and Stein's estimator, 1961): follows a drifting machine, costs few runs on a quiet one.
 */
function driftOf(good: EndRuns, bad: EndRuns, variance: number): Drift {
  const parts = [good, bad].filter(({ values, inTurn }) => inTurn > 0 && values.length > inTurn);
  const inTurn = parts.reduce((sum, part) => sum + part.inTurn, 0);
  if (inTurn === 0) return NO_DRIFT;
  let moved = 0;
  let ownVariance = variance / inTurn;
  for (const part of parts) {
    const share = part.inTurn / inTurn;
    const [before, now] = split(part);
    moved += share * (meanLog(now) - meanLog(before));
    ownVariance += (variance * share ** 2) / before.length;
  }
  const weight = moved === 0 ? 0 : Math.max(0, 1 - ownVariance / moved ** 2);
  return { level: weight * moved, weight, variance: weight / inTurn };
}

function levelOf(end: EndRuns, { level, weight }: Drift): number {
  const [before] = split(end);
  const all = meanLog(end.values);
  return before.length === 0 ? all : (1 - weight) * all + weight * meanLog(before) + level;
}

function split({ values, inTurn }: EndRuns): [readonly number[], readonly number[]] {
  const start = values.length - inTurn;
  return [values.slice(0, start), values.slice(start)];
}

function pooledNoise({ good, bad, candidate, others }: CandidateRuns) {
  let squares = 0;
  let degrees = 0;
  for (const group of [...split(good), ...split(bad), candidate, ...others]) {
    if (group.length < 2) continue;
    const mean = meanLog(group);
    squares += group.reduce((sum, value) => sum + (Math.log(value) - mean) ** 2, 0);
    degrees += group.length - 1;
  }
  return { variance: Math.max(LEAST_VARIANCE, degrees === 0 ? 0 : squares / degrees), degrees: Math.max(1, degrees) };
}
