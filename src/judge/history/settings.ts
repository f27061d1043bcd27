/**
 * Parameters of the history detector, tuned on simulated histories (benchmarks/detection/README.md). Run the benchmark
 * again after any change.
 */
export const HISTORY = {
  leastNights: 8,
  /** Penalty per boundary, multiplied by the square of `slowFactor` and the log of the number of sweeps. */
  penalty: 7.5,
  leastLevel: 3,
  /** Largest distance of a clipped sweep from the median of its neighbors, in standard deviations. */
  clip: 3,
  clipHalf: 3,
  /** A boundary has margin 1 at this many standard errors. */
  leastErrors: 3,
  /** Ratio of the standard error of a difference of medians to that of means. */
  medianError: 1.25,
  /** A boundary has margin 1 at this many standard deviations. */
  leastDeviations: 0.85,
  /** A boundary has margin 1 at this relative change. */
  leastChange: 0.003,
  /** Least noise of a level, as a share of the noise of the series. */
  noiseShare: 0.7,
  /** Sweeps on either side of a boundary from which the noise of the levels is taken. */
  near: 30,
  /** Least number of sweeps for a level to have its own standard deviation. */
  levelSweeps: 6,
  /** Rank test: largest and smallest number of raw values per side, and the p value. */
  rankSweeps: 24,
  leastRankSweeps: 6,
  rankP: 0.01,
  /** In a newest level with fewer sweeps, every sweep must lie beyond half the shift. */
  youngSweeps: 6,
  /** Known states: least distance in standard deviations, longest stay, and least number of earlier visits. */
  stateDeviations: 4,
  stateSweeps: 30,
  stateVisits: 2,
  /** A level that returns after fewer sweeps is a burst. */
  burstSweeps: 5,
  /** A level has returned if it is within this share of the shift. */
  backShare: 0.35,
  /** Offsets are similar within this share of the shift, or one standard deviation. */
  similarShare: 0.25,
  /** A newest level counts as a known state up to this many times the longest stay. */
  stayFactor: 1.5,
  /**
   * The clock is used if it changes by at least this much, and if it reduces differences between sweeps to this share.
   */
  clockMoves: 0.003,
  clockGain: 0.8,
  /**
   * It is also used if it reduces the differences at its changes, of which there must be at least this many, to this
   * share.
   */
  leastSwitches: 3,
  switchGain: 0.5,
} as const;

/** Rules for the time at which a change in a growing history is known to last. */
export const ALERTING = {
  /**
   * Number of sweeps in the window. Older ones do not affect the newest one, and the window includes the level before
   * the newest change.
   */
  windowNights: 240,
  firstNight: 20,
  looks: 2,
  /** An older change point counts only if it stays for this many consecutive sweeps. */
  freshNights: 6,
  oldLooks: 6,
  sameNights: 3,
  /** A change point may move by this many sweeps from one look to the next. */
  moveSweeps: 1,
  /**
   * At a level that the cell visited before, a change lasts only from this age, or when it exceeds the longest visit.
   */
  visitedAge: 7,
} as const;

/** Number of sweeps of a series from which its noise is taken. */
export const NEWEST_SWEEPS = 60;
