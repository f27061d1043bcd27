/**
 * Parameters of the history detector, tuned on simulated histories (benchmarks/detection/README.md): score again after
 * any change.
 */
export const HISTORY = {
  leastNights: 8,
  /** Per boundary, times the squared slow noise factor and the log of the number of sweeps. */
  penalty: 7.5,
  leastLevel: 3,
  /** A sweep is moved to within this many standard deviations of the median of its neighbors. */
  clip: 3,
  clipHalf: 3,
  /** A boundary has margin 1 at this many standard errors ... */
  leastErrors: 3,
  /** ... of a difference of medians, whose error exceeds that of means by this factor, */
  medianError: 1.25,
  /** at this many standard deviations, */
  leastDeviations: 0.85,
  /** and at this relative change. */
  leastChange: 0.003,
  /** Least noise of a level, as a share of the series'. */
  noiseShare: 0.7,
  /** Sweeps around a boundary that say how the level scatters there. */
  near: 30,
  /** From this many sweeps a level's own deviation counts. */
  levelSweeps: 6,
  /** Rank test: raw values a side, at most and at least, and its p value. */
  rankSweeps: 24,
  leastRankSweeps: 6,
  rankP: 0.01,
  /** A younger newest level must lie beyond half the shift in every sweep. */
  youngSweeps: 6,
  /** Known states: at least this many deviations off, no longer than this, visited so often before. */
  stateDeviations: 4,
  stateSweeps: 30,
  stateVisits: 2,
  /** A level that is back after fewer sweeps is a burst. */
  burstSweeps: 5,
  /** Back: within this share of the shift. */
  backShare: 0.35,
  /** Similar: offsets within this share of the shift, or one deviation. */
  similarShare: 0.25,
  /** A newest level is a known state as long as it is no older than this many times the longest stay. */
  stayFactor: 1.5,
  /** Clock: tried when it moves by this much, kept when it reduces differences between sweeps by this factor. */
  clockMoves: 0.003,
  clockGain: 0.8,
  /** Or when it reduces the differences at its switches, of which there are at least this many, by this factor. */
  leastSwitches: 3,
  switchGain: 0.5,
} as const;

/** When a change in a growing history is known to last. */
export const ALERTING = {
  /** This many sweeps are looked at: older ones say nothing of the newest one, and the level before the newest change is in them. */
  windowNights: 240,
  firstNight: 20,
  looks: 2,
  /** An older place counts only when it stays this many sweeps running. */
  freshNights: 6,
  oldLooks: 6,
  sameNights: 3,
  /** A place may move by this from sweep to sweep. */
  moveSweeps: 1,
  /** Where the cell was for some sweeps before it lasts from this age on, or longer than that. */
  visitedAge: 7,
} as const;

/** As many sweeps of a series say its noise. */
export const NEWEST_SWEEPS = 60;
