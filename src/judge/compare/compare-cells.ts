import {
  type CellComparison,
  type CommonShift,
  DETECTABLE_FROM,
  singleRunReason,
  type Verdict,
} from '../../records/verdict.ts';
import { rejectedByBenjaminiHochberg } from '../../statistics/multiple-tests.ts';
import type { CellRatio } from '../geometric-mean.ts';
import { callLimit, detectableChange, FALSE_SHARE, LEAST_PERCENT, moreRunsUntil } from '../detectable-effect.ts';
import { meanLog, percentOfLog } from '../../statistics/logarithms.ts';
import { commonShift, nightVariance, pastNightVariance, type Shift, sharesShift } from '../sweep-noise.ts';
import { estimateNoise, type NoiseEstimate, type NoisySides } from '../run-noise.ts';
import { tQuantile, twoSidedP } from '../../statistics/student-t.ts';
import type { CellKey } from '../../records/scalars.ts';

/** Two sides of a cell that are compared. */
export interface TwoSides extends NoisySides {
  readonly cellKey: CellKey;
  /** Error of the difference that more runs do not reduce: standard deviation, log scale. */
  readonly systematicError?: number;
  readonly betterIs: 'lower' | 'higher';
}

/** Scored on simulated matrices with known changes (benchmarks/verdicts.ts). */
const COMPARISON = {
  /** A cell in which a change of this size would have been detected is the same. */
  samePercent: 2,
  confidence: 0.95,
} as const;

interface CompareSettings {
  /** False discovery rate. */
  readonly q?: number | undefined;
  /** True for two sides of one sweep: no sweep effect, and a common shift is the answer. */
  readonly sameNight?: boolean;
  /** True where the verdict is of the whole change, also of the part that nearly all cells share. */
  readonly isShiftKept?: boolean;
  /** Least variance between two sweeps of cells without a past, log scale: where cells are too few to say it themselves. */
  readonly assumedNights?: number;
}

interface Evidence {
  readonly cell: TwoSides;
  readonly cellKey: CellKey;
  /** Difference of mean logs; above 0 where head is worse. */
  readonly difference: number;
  /** The part of it that is judged: without the common shift, and never of the other direction. */
  readonly judged: number;
  readonly error: number;
  readonly degrees: number;
  /** Variance between two sweeps beyond their runs. */
  readonly nights: number;
  readonly noise: NoiseEstimate;
}

/**
 * Compares the two sides of many cells at once: the noise of each is steadied by that of all, what nights differ by is
 * read from all, and the share of false calls is held over the whole matrix. A change that nearly all cells share is one
 * finding, and each cell is judged without it. No random numbers: the same runs give the same verdicts.
 * @returns `sharing`: keys of the cells that share the shift; `ratios`: head over base by key, for a mean over cells; `noises`: how single runs of each cell scatter, by its key,
 * also of cells with runs on one side only
 */
export function compareCells(
  cells: readonly TwoSides[],
  { q = FALSE_SHARE, sameNight = false, isShiftKept = sameNight, assumedNights = 0 }: CompareSettings = {},
) {
  const estimates = estimateNoise(cells);
  const byRuns = cells.flatMap((cell, index) => {
    const noise = estimates[index];
    const isMeasured = cell.base.length > 0 && cell.head.length > 0;
    return noise === undefined || !isMeasured ? [] : [evidenceOf(cell, noise)];
  });
  const { evidence, called, shift } = sameNight
    ? calledAmong(byRuns, q, isShiftKept)
    : withNights(byRuns, q, isShiftKept, assumedNights);
  const limits = new Map<number, number>();
  const tested = evidence.filter(isTestable).length;
  const calls: Calls = {
    shift,
    tested,
    limitAt: (degrees) => {
      const known = limits.get(degrees);
      const limit = known ?? callLimit(q, called.size, Math.max(tested, 1), degrees);
      if (known === undefined) limits.set(degrees, limit);
      return limit;
    },
  };
  const judged = evidence.filter((entry) => !isUnjudged(entry));
  const sharing = shift === null ? [] : judged.filter((entry) => sharesShift(entry, shift));
  return {
    cells: evidence.map((entry) => judge(entry, called.has(entry.cellKey), calls)),
    shift: shift === null ? null : describeShift(shift.size, judged, sharing.length),
    sharing: new Set(sharing.map(({ cellKey }) => cellKey)),
    ratios: new Map(evidence.map((entry) => [entry.cellKey, ratioOf(entry)])),
    noises: new Map(
      cells.flatMap(({ cellKey }, index) => {
        const noise = estimates[index];
        return noise === undefined ? [] : [[cellKey, noise] as const];
      }),
    ),
  };
}

function ratioOf({ cell, degrees, difference, error, noise }: Evidence): CellRatio {
  return {
    logRatio: signed(cell, difference),
    noise: noise.from === 'assumed' ? null : { variance: error ** 2, degrees },
    isBorrowed: noise.assumed !== null,
  };
}

interface Calls {
  readonly shift: Shift | null;
  /** Cells over which the false discovery rate holds. */
  readonly tested: number;
  /** The t value with this many degrees of freedom from which one more cell would be called. */
  readonly limitAt: (degrees: number) => number;
}

function evidenceOf(cell: TwoSides, noise: NoiseEstimate): Evidence {
  const { base, head, systematicError = 0, betterIs } = cell;
  const byRuns = noise.variance * perRun(cell);
  const change = meanLog(head) - meanLog(base);
  return {
    cell,
    cellKey: cell.cellKey,
    difference: betterIs === 'lower' ? change : -change,
    judged: betterIs === 'lower' ? change : -change,
    error: Math.max(Math.sqrt(byRuns), systematicError),
    degrees: noise.degrees,
    nights: 0,
    noise,
  };
}

/** Iterations until the set of unreported cells is stable. */
const LOOKS = 4;

/** Adds the sweep effect: from a cell's earlier sweeps, else from the differences of all cells. */
function withNights(evidence: readonly Evidence[], q: number, isShiftKept: boolean, assumed: number) {
  const [old, young] = [true, false].map((hasPast) =>
    evidence.filter((entry) => isTestable(entry) && entry.noise.nights > 0 === hasPast),
  );
  const past = pastNightVariance(
    (old ?? []).map((entry) => ({ ...entry, beyond: entry.noise.beyond * perRun(entry.cell) })),
  );
  let found = calledAmong(evidence, q, isShiftKept);
  for (let look = 0; look < LOOKS; look += 1) {
    const before = found.called.size;
    const nights = Math.max(assumed, nightVariance(young ?? [], found.called));
    const seen = evidence.map((entry) => {
      const differing = entry.noise.nights > 0 ? past : nights;
      return { ...entry, nights: differing, error: Math.hypot(entry.error, Math.sqrt(differing)) };
    });
    found = calledAmong(seen, q, isShiftKept);
    if (found.called.size === before) break;
  }
  return found;
}

/** Variance of a difference of two sides, in units of a run's. */
function perRun({ base, head }: TwoSides): number {
  return 1 / base.length + 1 / head.length;
}

function isTestable({ noise }: Evidence): boolean {
  return noise.assumed === null;
}

const NEVER_SURE = 1;

/** Takes the common shift off, and finds the cells that changed without it, by their keys. */
function calledAmong(all: readonly Evidence[], q: number, isShiftKept: boolean) {
  const shift = isShiftKept ? null : commonShift(all.filter((entry) => !isUnjudged(entry)));
  const evidence = shift === null ? all : all.map((entry) => withoutShift(entry, shift));
  const tested = evidence.filter(isTestable);
  const positions = rejectedByBenjaminiHochberg(
    tested.map(({ cell, judged, error, degrees }) =>
      // What is never reported must not help others through, however significant.
      !hasSingleRun(cell) && isLarge(signed(cell, judged)) ? twoSidedP(Math.abs(judged) / error, degrees) : NEVER_SURE,
    ),
    q,
  );
  return { evidence, shift, called: new Set(tested.flatMap(({ cellKey }, at) => (positions.has(at) ? cellKey : []))) };
}

/** Judged is the smaller of the change and of what is left of it without the shift; nothing where they disagree. */
function withoutShift(entry: Evidence, { size, error }: Shift): Evidence {
  const { difference } = entry;
  const left = difference - size;
  const judged = left * difference <= 0 ? 0 : Math.abs(left) < Math.abs(difference) ? left : difference;
  return { ...entry, judged, error: Math.hypot(entry.error, error) };
}

function signed({ betterIs }: TwoSides, difference: number): number {
  return betterIs === 'lower' ? difference : -difference;
}

function isLarge(change: number): boolean {
  return Math.abs(percentOfLog(change)) >= LEAST_PERCENT;
}

function describeShift(shift: number, evidence: readonly Evidence[], sharing: number): CommonShift {
  const isTime = evidence.some(({ cell }) => cell.betterIs === 'lower');
  const change = isTime ? shift : -shift;
  return {
    percent: percentOfLog(change),
    cells: evidence.length,
    sharing,
    verdict: isLarge(change) ? (shift > 0 ? 'slower' : 'faster') : null,
    recorded: [],
  };
}

function judge(entry: Evidence, isCalled: boolean, calls: Calls): CellComparison {
  const { cell, difference, judged, error, degrees, nights, noise } = entry;
  const change = signed(cell, difference);
  const reach = tQuantile(1 - COMPARISON.confidence, degrees) * error;
  const isSure = Math.abs(judged) > reach;
  const detectable = detectableChange(error, degrees, calls.limitAt(degrees));
  const hasVerdict = !isUnjudged(entry);
  // An unreported change in the row cannot be of a detectable size.
  const mde = hasVerdict ? detectable : Math.max(detectable, Math.abs(change));
  const verdict = verdictOf(entry, isCalled, isSure, mde);
  const more = verdict === 'unclear' ? moreRuns(entry, mde, isSure, calls) : null;
  return {
    cellKey: cell.cellKey,
    verdict,
    base: Math.exp(meanLog(cell.base)),
    head: Math.exp(meanLog(cell.head)),
    changePercent: percentOfLog(change),
    ciPercent: hasVerdict ? [percentOfLog(change - reach), percentOfLog(change + reach)] : null,
    mdePercent: percentOfLog(mde),
    runs: [cell.base.length, cell.head.length],
    moreRunsNeeded: more,
    noise: {
      from: noise.from,
      runPercent: percentOfLog(Math.sqrt(noise.variance)),
      nightPercent: percentOfLog(Math.sqrt(nights)),
      nights: noise.nights,
    },
    reasons: [
      ...(verdict === 'unclear' ? unclearReasons(entry, mde, isSure, more, calls) : []),
      ...shiftReasons(entry, Math.abs(difference) > reach, calls.shift),
    ],
  };
}

function verdictOf(entry: Evidence, isCalled: boolean, isSure: boolean, mde: number): Verdict {
  if (isUnjudged(entry)) return 'unclear';
  if (isCalled) return entry.judged > 0 ? 'slower' : 'faster';
  return !isSure && percentOfLog(mde) <= COMPARISON.samePercent ? 'same' : 'unclear';
}

/** One run a side does not show its own noise: no verdict. */
function isUnjudged({ cell, noise }: Evidence): boolean {
  return noise.assumed !== null || hasSingleRun(cell);
}

function hasSingleRun({ base, head }: TwoSides): boolean {
  return Math.min(base.length, head.length) < 2;
}

/** More runs a side until the detectable effect reaches what counts as the same, or the observed change. */
function moreRuns(entry: Evidence, mde: number, isSure: boolean, calls: Calls): number | null {
  const { cell, judged, noise, nights } = entry;
  const same = Math.log1p(COMPARISON.samePercent / 100);
  const isPrecise = mde <= same && isSure && !isUnjudged(entry);
  if (isPrecise && !isLarge(signed(cell, judged))) return null;
  const wanted = isPrecise ? Math.abs(judged) : same;
  const { systematicError = 0, base, head } = cell;
  const runs = [base.length, head.length] as const;
  return moreRunsUntil(
    { ...noise, runs, systematicError, nights },
    (error, degrees) => detectableChange(error, degrees, calls.limitAt(degrees)) <= wanted,
  );
}

function unclearReasons(
  entry: Evidence,
  mde: number,
  isSure: boolean,
  more: number | null,
  { tested }: Calls,
): string[] {
  const { cell, judged, noise, nights } = entry;
  const reasons: string[] = [];
  const single = singleRunReason([cell.base.length, cell.head.length]);
  if (single !== null) reasons.push(single);
  if (noise.assumed !== null) reasons.push(noise.assumed);
  const isSeen = reasons.length === 0 && isSure;
  const isSmall = isSeen && !isLarge(signed(cell, judged));
  if (isSmall) reasons.push('smallChange');
  else if (isSeen) reasons.push(tested > 1 ? 'notSureAmongMany' : 'notSureEnough');
  const isSettled = isSmall && percentOfLog(mde) <= COMPARISON.samePercent;
  if (more === null && !isSettled) {
    reasons.push(nights > (cell.systematicError ?? 0) ** 2 ? 'nightsDiffer' : 'runsInDoubt');
  }
  return [...reasons, `${DETECTABLE_FROM}${percentOfLog(mde).toFixed(1)} %`];
}

/** @param isMoved whether its change as it is leaves 0 out */
function shiftReasons(entry: Evidence, isMoved: boolean, shift: Shift | null): string[] {
  if (shift === null || isUnjudged(entry)) return [];
  if (!sharesShift(entry, shift)) return ['unlikeShift'];
  return isMoved ? ['commonShift'] : [];
}
