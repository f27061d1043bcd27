/**
 * The numbers of the history detector. They were tuned on simulated histories (see benchmarks/detection/README.md); a
 * change of any of
 * them is a change of the detector, to be scored anew.
 */
export const HISTORY = {
  /** Fewer nights are no history. */
  leastNights: 8,
  /** Penalty of a boundary, times the squared slow noise factor and the logarithm of the number of nights. */
  penalty: 7.5,
  /** A level lasts at least this many nights. */
  leastLevel: 3,
  /** A night is moved to within this many standard deviations of the median of its neighbours. */
  clip: 3,
  /** Neighbours on either side of it. */
  clipHalf: 3,
  /** A boundary has margin 1 at this many standard errors ... */
  leastErrors: 3,
  /** ... of the difference of two medians, of which the error is so much larger than that of means, */
  medianError: 1.25,
  /** at this many standard deviations, */
  leastDeviations: 0.85,
  /** and at such a relative change. */
  leastChange: 0.003,
  /** The noise of a level is at least this share of that of the series. */
  noiseShare: 0.7,
  /** Nights around a boundary that say how the level scatters there. */
  near: 30,
  /** From this many nights a level's own deviation counts. */
  levelNights: 6,
  /** Raw nights a side for the rank test, at most and at least, and its p value. */
  rankNights: 24,
  leastRankNights: 6,
  rankP: 0.01,
  /** A newest level that is younger must lie beyond half the shift every night. */
  youngNights: 6,
  /** Known states: at least this many deviations off, no longer than this, visited so often before. */
  stateDeviations: 4,
  stateNights: 30,
  stateVisits: 2,
  /** A level that is back after fewer nights is a burst. */
  burstNights: 5,
  /** Back: within this share of the shift. */
  backShare: 0.35,
  /** Similar: offsets within this share of the shift, or one deviation. */
  similarShare: 0.25,
  /** A newest level is a known state as long as it is no older than this many times the longest stay. */
  stayFactor: 1.5,
  /** Clock: worth a try when it moves by so much, kept when it takes away so much of the night-to-night changes. */
  clockMoves: 0.003,
  clockGain: 0.8,
} as const;

/** When a change in a growing history is reported. */
export const ALERTING = {
  /**
   * This many nights are looked at: older ones say nothing of the newest one, and the level before the newest change is in them.
   */
  windowNights: 240,
  /** The first night on which anything may be reported. */
  firstNight: 20,
  /** Margins count less in short histories: they do not know their slow noise yet. */
  shortNights: 10,
  /** At once from this margin on. */
  atOnce: 2.4,
  /** Less clear: when it is seen this many nights running. */
  looks: 2,
  /** A place so old that it should have been seen before: only when it stays this many nights running. */
  freshNights: 6,
  oldLooks: 6,
  /** Places that are so close are the same change. */
  sameNights: 3,
  /** From one night to the next the same place may move by this. */
  moveNights: 1,
} as const;
