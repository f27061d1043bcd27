import * as z from 'zod';

import type { TimeStatistics } from '../records/harness.ts';
import { quantileSorted } from '../statistics/order-statistics.ts';
import { defineHarness, inJson, partOf } from './define-harness.ts';
import * as setting from './settings.ts';

/** Runners of polygraphy's RunResults, with seconds. The outputs themselves are ignored. */
const runners = z.array(z.tuple([z.string(), z.array(z.object({ runtime: z.number().positive() })).min(1)]));

const MARK = /^\s*\{\s*"lst"\s*:\s*\[/;

/** `polygraphy run`, read from the times in the file of `--save-outputs`. */
export const polygraphyDriver = defineHarness({
  kind: 'polygraphy',
  about: 'polygraphy run, which measures one runner with the clock of the host',
  settings: {
    run: setting.run(
      'polygraphy run and its arguments with --iterations N and --save-outputs {runFolder}/results.json; no shell reads them',
    ),
    warmUpRuns: z.number().int().min(0).describe('Warm-up runs: the value of --warm-up').optional(),
    ...setting.program(60),
  },
  defaultEstimateS: 60,
  timer: 'wall',
  inFlight: 1,
  percentileRule: 'linear',
  needs: ['precision', 'shapes'],
  mark: MARK,
  report: 'results.json',
  advice: 'add --save-outputs {runFolder}/results.json',
  started: ({ run }) => ({ run }),
  found: inJson('are they results of polygraphy?', MARK, (report) =>
    partOf(report, 'lst', runners).map(([runner, iterations]) => ({
      latencyMs: statisticsOf(iterations.map(({ runtime }) => runtime * 1000)),
      timedRuns: iterations.length,
      // Two runners in one file are two ways to run the model: `onnxrt-runner` of `onnxrt-runner-N0-03/11/26-10:02:11`.
      stated: { identity: runner.startsWith('trt-runner') ? {} : { runner: runner.replace(/-N\d+-.*$/, '') } },
    })),
  ),
});

/** Adds a percentile only if there are enough times for it to differ from the largest one. */
function statisticsOf(timesMs: readonly number[]): TimeStatistics {
  const sorted = timesMs.toSorted((a, b) => a - b);
  const percents = [90, 95, 99].filter((percent) => sorted.length >= 100 / (100 - percent));
  return {
    min: quantileSorted(sorted, 0),
    max: quantileSorted(sorted, 1),
    mean: sorted.reduce((sum, ms) => sum + ms, 0) / sorted.length,
    median: quantileSorted(sorted, 0.5),
    percentiles: Object.fromEntries(percents.map((percent) => [percent, quantileSorted(sorted, percent / 100)])),
  };
}
