import { type CellComparison, type CommonShift, DETECTABLE_FROM, singleRunReason } from '../../records/verdict.ts';
import type { CellKey } from '../../records/scalars.ts';
import { rejectedByBenjaminiHochberg } from '../../statistics/p-values.ts';
import { meanLog, percentOfLog, tQuantile, twoSidedP } from '../../statistics/special-functions.ts';
import { FALSE_SHARE, detectableAmong, estimateNoise, isLarge, moreRunsUntil, withoutFarRun } from '../run-noise.ts';
import type { NoiseEstimate, NoisySides } from '../run-noise.ts';
import { commonShift, pastVarianceBetweenSweeps, varianceBetweenSweeps } from '../sweep-noise.ts';

export interface TwoSides extends NoisySides {
  readonly cellKey: CellKey;
  /** Error of the difference that more runs do not reduce: standard deviation on the log scale. */
  readonly systematicError?: number;
  readonly betterIs: 'lower' | 'higher';
  /** Recorded differences of the machine, which may be the cause of a shift. */
  readonly machine?: readonly string[];
}

/** A recorded difference may be the cause of a shift if this share of the affected cells has it. */
const SHARED_SHARE = 0.8;
/** A cell counts as the same if a change of this size would have been detected. */
const SAME_PERCENT = 2;
const INTERVAL_P = 0.05;

type Evidence = ReturnType<typeof evidenceOf>;

function evidenceOf(cell: TwoSides, noise: NoiseEstimate) {
  const { base, head, systematicError = 0 } = cell;
  const perRun = 1 / base.length + 1 / head.length;
  const logRatio = meanLog(head) - meanLog(base);
  const sign = cell.betterIs === 'lower' ? 1 : -1;
  const difference = sign * logRatio;
  return {
    ...cell,
    perRun,
    sign,
    systematicError,
    logRatio,
    noise,
    isUnjudged: noise.assumed !== null || Math.min(base.length, head.length) < 2,
    /** Difference of mean logs; above 0 when head is worse. */
    difference,
    /** The judged part of the difference: without the common shift, and never with the opposite sign. */
    judged: difference,
    error: Math.max(Math.sqrt(noise.variance * perRun), systematicError),
    degrees: noise.degrees,
    /** Variance between two sweeps in addition to that of their runs. */
    sweepVariance: 0,
  };
}

export function compareCells(
  all: readonly TwoSides[],
  { q = FALSE_SHARE, sameSweep = false }: { readonly q?: number; readonly sameSweep?: boolean } = {},
) {
  const given = new Map(all.map(({ base, cellKey, head }) => [cellKey, base.length + head.length]));
  const cells = all.map((cell) => ({ ...cell, base: withoutFarRun(cell.base), head: withoutFarRun(cell.head) }));
  const noiseOf = estimateNoise(cells);
  const measured = cells.filter(({ base, head }) => base.length > 0 && head.length > 0);
  const byRuns = measured.map((cell) => evidenceOf(cell, noiseOf(cell)));
  const { called, evidence, shift, tested } = withSweepVariance(byRuns, q, sameSweep);
  const judged = evidence.filter(({ isUnjudged }) => !isUnjudged);
  const sharing = new Set(shift === null ? [] : judged.filter(shift.isNear));
  const detectable = detectableAmong(Math.max(tested.length, 1), called.size, q);
  const judge = (entry: Evidence): Omit<CellComparison, 'base' | 'head'> => {
    const { base, cellKey, degrees, error, head, isUnjudged, logRatio: change, noise, sweepVariance } = entry;
    const runs = [base.length, head.length] as const;
    const reach = tQuantile(INTERVAL_P, degrees) * error;
    const isSure = !isUnjudged && Math.abs(entry.judged) > reach;
    const mde = detectable(error, degrees);
    const oneRun = singleRunReason(runs);
    const isPrecise = percentOfLog(mde) <= SAME_PERCENT;
    const isCalled = called.has(cellKey);
    const isUnclear = !isCalled && (isUnjudged || isSure || !isPrecise);
    // Repeat until the detectable effect reaches the limit for "same", or the observed change.
    const isSmall = isSure && !isLarge(entry.sign * entry.judged);
    const same = Math.log1p(SAME_PERCENT / 100);
    const wanted =
      oneRun !== null ? Math.max(same, Math.abs(change)) : isPrecise && isSure ? Math.abs(entry.judged) : same;
    const isEnough = (least: number, free: number): boolean => detectable(least, free) <= wanted;
    const isHelped = isUnclear && !(isPrecise && isSmall);
    const more = isHelped ? moreRunsUntil(noise, runs, entry.systematicError, sweepVariance, isEnough) : null;
    const reasons: (string | null)[] = [base.length + head.length === given.get(cellKey) ? null : 'farRun'];
    if (isUnclear) {
      reasons.push(oneRun, noise.assumed);
      if (isSure) reasons.push(isSmall ? 'smallChange' : 'notSureEnough');
      if (more === null && isHelped) reasons.push('notByRuns');
      reasons.push(`${DETECTABLE_FROM}${percentOfLog(mde).toFixed(1)} %`);
    }
    if (shift !== null && !isUnjudged) {
      if (!sharing.has(entry)) reasons.push('unlikeShift');
      // The interval of its unadjusted change excludes 0.
      else if (Math.abs(change) > reach) reasons.push('commonShift');
    }
    return {
      cellKey,
      verdict: isCalled ? (entry.judged > 0 ? 'slower' : 'faster') : isUnclear ? 'unclear' : 'same',
      changePercent: percentOfLog(change),
      ciPercent: isUnjudged ? null : [percentOfLog(change - reach), percentOfLog(change + reach)],
      mdePercent: percentOfLog(mde),
      runs,
      moreRunsNeeded: more,
      noise: {
        from: noise.from,
        runPercent: percentOfLog(Math.sqrt(noise.variance)),
        nightPercent: percentOfLog(Math.sqrt(sweepVariance)),
        nights: noise.sweeps,
      },
      reasons: reasons.filter((reason) => reason !== null),
    };
  };
  const describedShift = (size: number): CommonShift => {
    const change = judged.some(({ betterIs }) => betterIs === 'lower') ? size : -size;
    const verdict = isLarge(change) ? (size > 0 ? 'slower' : 'faster') : null;
    const machines = [...sharing].map(({ machine = [] }) => machine);
    const isShared = (cause: string): boolean =>
      machines.filter((own) => own.includes(cause)).length >= SHARED_SHARE * sharing.size;
    const recorded = [...new Set(machines.flat())].filter(isShared);
    return { percent: percentOfLog(change), cells: judged.length, sharing: sharing.size, verdict, recorded };
  };
  return {
    cells: evidence.map(judge),
    shift: shift === null ? null : describedShift(shift.size),
    ratios: new Map(
      evidence.map(({ cellKey, degrees, error, logRatio, noise: ofRuns }) => {
        const noise = ofRuns.from === 'assumed' ? null : { variance: error ** 2, degrees };
        return [cellKey, { logRatio, noise, isBorrowed: ofRuns.assumed !== null, ofRuns }] as const;
      }),
    ),
  };
}

const LOOKS = 4;

/** Adds the sweep effect, estimated from a cell's earlier sweeps, else from the differences of all cells. */
function withSweepVariance(evidence: readonly Evidence[], q: number, sameSweep: boolean) {
  let found = calledAmong(evidence, q, sameSweep);
  const old = evidence.filter(({ noise }) => noise.sweeps > 0);
  const young = evidence.filter(({ noise }) => noise.from === 'runs');
  const past = pastVarianceBetweenSweeps(old.map((entry) => entry.noise.beyond * entry.perRun));
  for (let look = sameSweep ? LOOKS : 0; look < LOOKS; look += 1) {
    const before = found.called.size;
    const now = varianceBetweenSweeps(young, found.called);
    const seen = evidence.map((entry) => {
      const sweepVariance = entry.noise.sweeps > 0 ? past : now;
      return { ...entry, sweepVariance, error: Math.hypot(entry.error, Math.sqrt(sweepVariance)) };
    });
    found = calledAmong(seen, q, sameSweep);
    if (found.called.size === before) break;
  }
  return found;
}

function calledAmong(all: readonly Evidence[], q: number, sameSweep: boolean) {
  const shift = sameSweep ? null : commonShift(all.filter(({ isUnjudged }) => !isUnjudged));
  const evidence = all.map((entry): Evidence => {
    if (shift === null) return entry;
    const { difference } = entry;
    const left = difference - shift.size;
    // The smaller of the change and the rest without the shift; 0 if their signs differ.
    const judged = left * difference <= 0 ? 0 : Math.abs(left) < Math.abs(difference) ? left : difference;
    return { ...entry, judged, error: Math.hypot(entry.error, shift.error) };
  });
  const tested = evidence.filter(({ noise }) => noise.assumed === null);
  // A change that is never reported must not lower the threshold for others, however significant it is.
  const pValues = tested.map((entry) => {
    const isTested = !entry.isUnjudged && isLarge(entry.sign * entry.judged);
    return isTested ? twoSidedP(Math.abs(entry.judged) / entry.error, entry.degrees) : 1;
  });
  const positions = rejectedByBenjaminiHochberg(pValues, q);
  const called = new Set(tested.flatMap(({ cellKey }, at) => (positions.has(at) ? cellKey : [])));
  return { called, evidence, shift, tested };
}
