/**
 * Parameters of the history detector, tuned on simulated histories (benchmarks/detection/README.md): score again after
 * any change.
 */
export const HISTORY = {
  /** Minimum length of a history. */
  leastNights: 8,
  /** Per boundary, times the squared slow noise factor and the log of the number of sweeps. */
  penalty: 7.5,
  /** A level lasts at least this many nights. */
  leastLevel: 3,
  /** A night is moved to within this many standard deviations of the median of its neighbours. */
  clip: 3,
  /** Neighbors on either side. */
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
  /** Nights around a boundary that say how the level scatters there. */
  near: 30,
  /** From this many nights a level's own deviation counts. */
  levelNights: 6,
  /** Rank test: raw values a side, at most and at least, and its p value. */
  rankNights: 24,
  leastRankNights: 6,
  rankP: 0.01,
  /** A younger newest level must lie beyond half the shift in every sweep. */
  youngNights: 6,
  /** Known states: at least this many deviations off, no longer than this, visited so often before. */
  stateDeviations: 4,
  stateNights: 30,
  stateVisits: 2,
  /** A level that is back after fewer sweeps is a burst. */
  burstNights: 5,
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

/** When a change in a growing history is reported. */
export const ALERTING = {
  /**
   * This many nights are looked at: older ones say nothing of the newest one, and the level before the newest change is in them.
   */
  windowNights: 240,
  /** The first night on which anything may be reported. */
  firstNight: 20,
  /** Margins count less in short histories, whose slow noise is not known yet. */
  shortNights: 10,
  /** Reported when it is seen in this many sweeps running. */
  looks: 2,
  /** An older place should have been seen before: only when it stays this many nights running. */
  freshNights: 6,
  oldLooks: 6,
  /** Places this close are the same change. */
  sameNights: 3,
  /** A place may move by this from sweep to sweep. */
  moveNights: 1,
} as const;

/** Changes that are reported before three sweeps make a level, and what restless cells wait for. */
export const EARLY = {
  /** The level before has at least this many sweeps. */
  levelSweeps: 6,
  /** Each of the sweeps lies off its level by this much: to be a departure, and to be reported. */
  leastDeviations: 3,
  leastChange: 0.003,
  clearDeviations: 5,
  /** Reported with this number of sweeps off, in a history of at least `leastSweeps`, within this range. */
  rules: [
    { sweeps: 3, leastSweeps: 23, rangeDeviations: 3.5, rangeShare: 0.1 },
    { sweeps: 2, leastSweeps: 80, rangeDeviations: 1.5, rangeShare: 0.03 },
  ],
  /** A sweep left its level when it was this far off: in deviations, and as a share of the newest shift. */
  farDeviations: 3.5,
  farShare: 0.4,
  /** A reported place younger than this is not taken back. */
  youngSweeps: 6,
} as const;

/** What a change in a restless cell waits for, as its age in sweeps. */
export const RESTLESS = {
  /** After this many stays well off the level on that side. */
  visits: 2,
  age: 5,
  /** After a stay about there: at least this, and this many times the longest one. */
  visitedAge: 7,
  stayFactor: 1,
  /** After a report that was wrong. */
  wrongAge: 15,
} as const;

/** Changes that are reported late must be clearer by (youngSweeps / sweeps) ** power. */
export const LATE = { youngSweeps: 45, power: 3 } as const;

/** A change of the share of sweeps that a cell spends in one of two states. */
export const SHARE = {
  /** Sweeps on either side. */
  leastBefore: 20,
  leastSweeps: 8,
  /** The newest sweeps lie off the level by this much: else there is nothing to see. */
  leastDeviations: 0.8,
  /** The states: this far apart, in deviations within them, each with this many sweeps. */
  statesApart: 4,
  leastVisits: 3,
  /** Difference of the shares, and of the log likelihoods. */
  leastApart: 0.4,
  leastGain: 11,
  /** A level's change this near is the same. */
  nearSweeps: 10,
  /** Switches between the states on either side, and as a share of those of independent draws. */
  leastSwitches: 3,
  switchShare: 0.6,
} as const;

/** Sweeps off their level that are not reported yet. */
export const SUSPECTS = {
  /** Standard deviations: worth more runs. */
  leastDeviations: 3,
  /** Worth saying: exceeded by one in a hundred cells over a hundred quiet sweeps. */
  farDeviations: 5,
  /** Share that is a change, by the number of sweeps running (simulated histories, benchmarks/detection/README.md). */
  probabilities: [0.35, 0.75, 0.9],
} as const;

/** Groups of cells against all others. */
export const GROUPS = {
  /** Of either side. */
  leastCells: 4,
  /** Share of the cells that have at least half of the shift. */
  movedShare: 0.65,
  /** Past sweeps of a contrast, at most and at least. */
  windowSweeps: 60,
  leastPast: 24,
  /** The newest sweeps that may be off together; a cell's change is part of its level from `youngSweeps` on. */
  mostSweeps: 3,
  youngSweeps: 6,
  leastSigma: 1e-5,
  leastChange: 0.003,
  /** Worth pairs. */
  suspectDeviations: 3,
  /** Clear: this many sweeps running, all this far off, and this many times as far as any before. */
  rules: [
    { sweeps: 1, deviations: 5.5, timesFarthest: 1.3 },
    { sweeps: 2, deviations: 5, timesFarthest: 1.15 },
    { sweeps: 3, deviations: 4, timesFarthest: 1 },
  ],
} as const;
