import * as z from 'zod';

import type { HarnessResult } from '../../records/harness.ts';
import type { TimeStatistics } from '../../records/measurement.ts';
import { quantileSorted } from '../../statistics/quantile.ts';
import { pathText } from '../path-text.ts';

/** `--save-outputs`: polygraphy's RunResults, of which the outputs themselves are not looked at. */
const resultsSchema = z.object({
  lst: z.array(z.tuple([z.string(), z.array(z.object({ runtime: z.number().positive().describe('Seconds') })).min(1)])),
});

/** One runner of a file, such as `trt-runner-N0-03/11/26-10:02:11`. */
export interface RunnerResult {
  readonly runner: string;
  readonly result: HarnessResult;
}

/** The runners of a file; a problem in one line; null when it is something else. */
export function readResults(text: string, warmUpRuns: number | null): RunnerResult[] | string | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return 'not JSON: is it cut off?';
  }
  const { success, data, error } = resultsSchema.safeParse(parsed);
  if (!success) {
    const [issue] = error.issues;
    return issue?.path.length === 0 || issue?.path[0] !== 'lst' || issue.path.length === 1
      ? null
      : `${pathText(issue.path)}: ${issue.message}`;
  }
  return data.lst.map(([runner, iterations]) => ({
    runner,
    result: resultOf(
      iterations.map(({ runtime }) => runtime * 1000),
      warmUpRuns,
    ),
  }));
}

function resultOf(timesMs: readonly number[], warmUpRuns: number | null): HarnessResult {
  return {
    kind: 'read',
    reading: {
      method: {
        harness: 'polygraphy',
        harnessVersion: null,
        timer: 'wall',
        inFlight: 1,
        percentileRule: 'linear',
        transfers: null,
        warmUpRuns,
        timedRuns: timesMs.length,
      },
      latencyMs: statisticsOf(timesMs),
      values: [],
    },
  };
}

/** Percentiles only where so many times were taken that they are not the largest one. */
function statisticsOf(timesMs: readonly number[]): TimeStatistics {
  const sorted = timesMs.toSorted((a, b) => a - b);
  const percents = [90, 95, 99].filter((percent) => sorted.length >= 100 / (100 - percent));
  return {
    min: quantileSorted(sorted, 0),
    max: quantileSorted(sorted, 1),
    mean: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length,
    median: quantileSorted(sorted, 0.5),
    percentiles: Object.fromEntries(
      percents.map((percent) => [String(percent), quantileSorted(sorted, percent / 100)]),
    ),
  };
}
