import type { CellComparison, CommonShift, Verdict } from '../domain/verdict.ts';
import { believed } from './benjamini-hochberg.ts';
import { median } from '../domain/median.ts';
import { meanLog } from './mean-log.ts';
import { estimateNoise, type NoiseEstimate } from './run-noise.ts';
import { tQuantile, twoSidedP } from './student-t.ts';

/** The runs of one cell on two sides: one positive value a run, as the unit of evidence is the run. */
export interface TwoSides {
  readonly cellKey: string;
  readonly base: readonly number[];
  readonly head: readonly number[];
  /** Values of earlier nights at the level of the base, one a night: how much nights differ by chance. */
  readonly past?: readonly number[];
  /** What no number of runs takes away from the error of the difference, as a standard deviation in logarithms. */
  readonly doubt?: number;
  readonly betterIs: 'lower' | 'higher';
}

/**
 * Numbers of the method (b2): tuned on simulated matrices with known changes, where it had a tenth of the false alarms
 * of Welch's t test on run means.
 */
const COMPARISON = {
  /** Share of false ones among the changes that are called. */
  q: 0.03,
  /** Smaller changes are never called, however sure. */
  leastPercent: 0.5,
  /** A cell in which a change of this size would have been seen, and was not, is the same. */
  samePercent: 2,
  /** The minimum detectable effect, in standard errors: about 90 % power. */
  mdeErrors: 4,
  /** A shift of all cells is believed from so many of its own errors on. */
  shiftErrors: 3,
  shiftCells: 10,
  confidence: 0.95,
  /** Fewer runs a side never settle anything. */
  leastRuns: 3,
} as const;

export interface MatrixComparison {
  readonly cells: readonly CellComparison[];
  readonly shift: CommonShift | null;
}

interface Evidence {
  readonly cell: TwoSides;
  /** Difference of the mean logarithms. */
  readonly difference: number;
  readonly error: number;
  readonly noise: NoiseEstimate;
}

/**
 * Compares the two sides of many cells at once: the noise of each is steadied by that of all, a shift that they share
 * is taken off, and the share of false calls is held over the whole matrix. No random numbers: the same runs give the
 * same verdicts.
 * @param q share of false ones among the changes that are called
 * @param takesOffShift false where a change that all share is no disturbance but the answer
 */
export function compareCells(
  cells: readonly TwoSides[],
  q: number = COMPARISON.q,
  takesOffShift = true,
): MatrixComparison {
  const measured = cells.filter(({ base, head }) => base.length > 0 && head.length > 0);
  const noises = estimateNoise(measured);
  const evidence = measured.map((cell, index): Evidence => {
    const noise = noises[index] ?? { variance: 0, degrees: 1, assumed: null };
    const { base, head } = cell;
    return {
      cell,
      difference: meanLog(head) - meanLog(base),
      error: Math.max(
        Math.sqrt(noise.variance * (1 / base.length + 1 / head.length)),
        cell.doubt ?? 0,
      ),
      noise,
    };
  });
  const shift = takesOffShift ? commonShift(evidence) : 0;
  const testable = evidence.filter(({ noise }) => noise.assumed === null);
  const called = believed(
    testable.map(({ difference, error, noise }) =>
      twoSidedP(Math.abs(difference - shift) / error, noise.degrees),
    ),
    q,
  );
  const calledKeys = new Set([...called].flatMap((index) => testable[index]?.cell.cellKey ?? []));
  return {
    cells: evidence.map((entry) => judge(entry, shift, calledKeys.has(entry.cell.cellKey))),
    shift: shift === 0 ? null : { percent: percentOf(shift), cells: evidence.length },
  };
}

function percentOf(logarithm: number): number {
  return Math.expm1(logarithm) * 100;
}

/** 0 when there are too few cells, or when the median change is within its own error. */
function commonShift(evidence: readonly Evidence[]): number {
  if (evidence.length < COMPARISON.shiftCells) return 0;
  const shift = median(evidence.map(({ difference }) => difference)) ?? 0;
  const typicalError = median(evidence.map(({ error }) => error)) ?? 0;
  // 1.2533 is the error of a median over that of a mean, for normal values.
  const error = (1.2533 * typicalError) / Math.sqrt(evidence.length);
  return Math.abs(shift) > COMPARISON.shiftErrors * error ? shift : 0;
}

function judge(
  { cell, difference, error, noise }: Evidence,
  shift: number,
  isCalled: boolean,
): CellComparison {
  const t = tQuantile(1 - COMPARISON.confidence, noise.degrees);
  const mdePercent = percentOf(COMPARISON.mdeErrors * error);
  const own = difference - shift;
  const isLarge = Math.abs(percentOf(own)) >= COMPARISON.leastPercent;
  const verdict = verdictOf(cell, own, isCalled && isLarge, noise, mdePercent);
  return {
    cellKey: cell.cellKey,
    verdict,
    base: Math.exp(meanLog(cell.base)),
    head: Math.exp(meanLog(cell.head)),
    changePercent: percentOf(difference),
    ciPercent: [percentOf(difference - t * error), percentOf(difference + t * error)],
    mdePercent,
    runs: [cell.base.length, cell.head.length],
    moreRunsNeeded: verdict === 'unclear' ? moreRuns(cell, noise.variance) : null,
    reasons: verdict === 'unclear' ? unclearReasons(cell, noise, mdePercent) : [],
  };
}

function verdictOf(
  cell: TwoSides,
  own: number,
  isChange: boolean,
  noise: NoiseEstimate,
  mdePercent: number,
): Verdict {
  // One run a side says nothing of its own noise: whatever the numbers, there is no verdict.
  if (noise.assumed !== null || hasSingleRun(cell)) return 'unclear';
  if (isChange) return own > 0 === (cell.betterIs === 'lower') ? 'slower' : 'faster';
  return mdePercent <= COMPARISON.samePercent ? 'same' : 'unclear';
}

function hasSingleRun({ base, head }: TwoSides): boolean {
  return Math.min(base.length, head.length) < 2;
}

/**
 * Runs a side that bring the minimum detectable effect down to what counts as the same, less those that are there; null
 * when no number of runs does.
 */
function moreRuns({ base, head, doubt = 0 }: TwoSides, variance: number): number | null {
  const wanted = Math.log1p(COMPARISON.samePercent / 100) / COMPARISON.mdeErrors;
  if (doubt > wanted) return null;
  const needed = Math.ceil((2 * variance) / wanted ** 2);
  const there = Math.min(base.length, head.length);
  return Math.max(1, Math.max(needed, COMPARISON.leastRuns) - there);
}

function unclearReasons(cell: TwoSides, noise: NoiseEstimate, mdePercent: number): string[] {
  const single = hasSingleRun(cell) ? ['one run a side is never a verdict'] : [];
  const assumed = noise.assumed === null ? [] : [noise.assumed];
  const hopeless =
    moreRuns(cell, noise.variance) === null
      ? ['more runs like these do not settle it: the runs themselves are in doubt']
      : [];
  return [
    ...single,
    ...assumed,
    ...hopeless,
    `could hide a change of up to ${mdePercent.toFixed(1)} %`,
  ];
}
