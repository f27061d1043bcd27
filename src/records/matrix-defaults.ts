import type { Precision } from './cell.ts';

/**
 * Defaults of a matrix, in one place. Graph, transfers and spin wait are trtexec's defaults from 11.0, so that a matrix
 * measures the same on every version. Warm-up, duration and iterations are trtexec's defaults and are nevertheless
 * written into each command line.
 */
export const MATRIX_DEFAULTS = {
  precision: ['fp32'] satisfies readonly Precision[],
  cudaGraph: true,
  dataTransfers: false,
  spinWait: true,
  streams: 1,
  warmUpMs: 200,
  durationS: 3,
  iterations: 10,
  percentiles: [90, 95, 99],
  exportTimes: true,
  minQueries: 30,
  minWarmUpQueries: 10,
  /** A verdict needs two runs per side, and three are the smallest useful number. */
  repeats: 3,
  builds: 1,
  profile: false,
  timingCache: true,
  buildTimeoutS: 3600,
  retries: { times: 2, waitS: 30 },
  keptLastGoodBytes: 10e9,
} as const;
