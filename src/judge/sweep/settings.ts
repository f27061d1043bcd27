/** Constants of the judge, chosen on seeds below 100 of the benchmark of single sweeps; sd = standard deviation. */
export const RULES = {
  /** Tail probability at which one sweep is reported. */
  oneSweepP: 1e-3,
  /** A sweep with this tail probability waits for a second one that agrees. */
  heldP: 0.01,
  /** Tail probability for the mean of the last 2 to 10 sweeps; nine dependent means share it. */
  windowP: 5e-4,
  /** Up to this many tests judged together use these probabilities. */
  testsAtFullP: 24,
  testsPower: 0.7,
  /** With this many tests or more, one excursion of a cell suffices to know that it has excursions. */
  manyTests: 500,
  longestWindow: 10,
  /** Weight of the flat prior of the sd in cells of the matrix. */
  flatCells: 20,
  /** Sd of a sweep on the log scale while nothing is known: 0.25 %, for GPU times of trtexec. */
  typicalSd: 0.0025,
  /** Prior sd of the common effect of a sweep; `sweepWeight` is its weight in sweeps of the matrix. */
  sweepSd: 0.001,
  sweepWeight: 4,
  /** Difference of a cell between two sweeps that its noise does not show. */
  cellSd: 0.001,
  /** A common effect is a shift from this many sd on, and in this share of the cells. */
  shiftSd: 5.5,
  shiftShare: 0.7,
  /** Least sum of the z values of a group over the root of its number of cells, and share of cells that must agree. */
  groupZ: 4.5,
  groupShare: 0.7,
  groupCells: 4,
  /** A moved cell is reported, unless its own sweep contradicts with this log likelihood ratio. */
  againstGroup: 3,
  /** Number of sweeps after which further steps are measured from a new level. */
  adoptSweeps: 4,
  /** A single run off by a log ratio in this range may be an accident, until the cell had this many quiet sweeps. */
  offRunLeast: 0.042,
  offRunMost: 0.36,
  offRunQuiet: 18,
  /** Additional sweeps for a run that is e times as far off. */
  offRunGrowth: 6,
  /** A level lasts from this many sweeps on: its end is reported, it may become the reference, a known one is reported. */
  lastingSweeps: 3,
  /** A second level is known after this many reports, and is then reported only when it lasts longer than before. */
  reportsOfLevel: 2,
  /** An excursion of up to this many times the largest known one is usual. */
  knownSize: 1.5,
  /** A reported level differs from the reference at this many standard errors, if its interval excludes 0. */
  openErrors: 2.5,
  intervalP: 0.05,
  /** An unreported change is unclear from this share of the detectable one, this many intervals, or this log beyond one, on. */
  unclearShare: 0.65,
  unclearReach: 2,
  unclearBeyond: 0.05,
  /** A reference is the mean of at most this many of its first sweeps. */
  referenceSweeps: 20,
  /** A line through more sweeps than this is a drift if its slope has the t value `driftT`. */
  driftSweeps: 6,
  driftT: 3.5,
  driftSd: 5.5,
  /** Runs of one sweep agree within this many sd of a run, or within the log ratio `runLeast`. */
  runSd: 6,
  runLeast: 0.02,
  /** Above this share of the runs of a cell, runs far above the others and far below them are its noise. */
  farShare: 0.2,
};
