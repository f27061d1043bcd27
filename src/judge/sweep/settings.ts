/** Constants of the judge of one sweep, chosen on seeds below 100 of the benchmark of single sweeps; sd = standard deviation. */
export const RULES = {
  /** Tail probability at which one sweep is reported. Calm cells reach .05 in 1,000 sweeps with it, heavy ones .35: see `heavyShare`. */
  oneSweepP: 1e-3,
  /** A sweep of this tail probability waits for a second that agrees with it. */
  heldP: 0.01,
  /** The same for the mean of the last 2 to 10 sweeps: nine means that depend on each other share it. */
  windowP: 5e-4,
  /** This many tests judged together have these probabilities; with more they fall with this power of the number (1: Bonferroni). */
  testsAtFullP: 24,
  testsPower: 0.7,
  /** From this many tests on, one excursion of a cell is enough to know that it has them. */
  manyTests: 500,
  longestWindow: 10,
  /** Prior share of cells with the tails of Student's t with 5 degrees of freedom: far above the true one, so that heavy cells are reported falsely no more often than calm ones. */
  heavyShare: 0.9,
  /** The flat prior of the sd counts as this many cells of the matrix. */
  flatCells: 20,
  /** The tail of a mean of n heavy sweeps is the normal one times this power of n of their ratio (chosen by simulation). */
  heavyMeanPower: 0.5,
  /** A sweep counts in a window with at most this many sd: one excursion is no step. */
  clipSd: 3.5,
  /** The mean of a window lies off by this many sd of one sweep: less is drift or a common effect. */
  windowMeanSd: 1.7,
  /** Sd of a sweep where nothing is known, as a log: GPU times of trtexec, .25 %. */
  typicalSd: 0.0025,
  /** Sd of the common effect of a sweep, worth this many sweeps of the matrix. */
  sweepSd: 0.001,
  sweepWeight: 4,
  /** A cell's own difference between two sweeps that its noise does not show. */
  cellSd: 0.001,
  /** A common effect of this many of its sds, at least so large, in this share of the cells is a shift. */
  shiftSd: 5.5,
  shiftLeast: 0.006,
  shiftShare: 0.7,
  /** The sum of a group's z over the root of its cells, and the share of its cells that agree. */
  groupZ: 4.5,
  groupShare: 0.7,
  groupCells: 4,
  /** A cell of a group that moved is reported with it unless its own sweep speaks against it by this log likelihood ratio. */
  againstGroup: 3,
  /** A new level is the one that further steps are measured from after this many sweeps. */
  adoptSweeps: 4,
  /** One run off by so much (log ratio) may be an accident of this run, until the cell was quiet for this many sweeps where it is off by 0.1. */
  offRunLeast: 0.042,
  offRunMost: 0.36,
  offRunQuiet: 17,
  /** Sweeps more for a run e times as far off. */
  offRunGrowth: 18,
  /** A level that lasted this many sweeps is worth saying that it ended; a single sweep is an excursion. */
  lastingSweeps: 3,
  /** A second level that was reported this many times is known, and reported only when it lasts longer than before. */
  reportsOfLevel: 2,
  /** An excursion up to this many times the largest one known is usual. */
  knownSize: 1.5,
  /** Sweeps running at a known level after which it is reported again. */
  knownRun: 3,
  fasterSweeps: 3,
  /** A level that was reported differs from the reference while it is this many standard errors off, and 0 is outside its interval. */
  openErrors: 2.5,
  intervalP: 0.05,
  /** A change of more than this share of the detectable one that is not reported is unclear. */
  unclearShare: 0.65,
  /** A reference is the mean of its first this many sweeps. */
  referenceSweeps: 20,
  /** A line through more sweeps than this whose slope has this t is a drift; drift is reported at this many sd from the level reported last. */
  driftSweeps: 6,
  driftT: 3.5,
  driftSd: 5,
  /** Runs of one sweep agree within this many run sd, at least this log ratio. */
  runSd: 6,
  runLeast: 0.02,
};
