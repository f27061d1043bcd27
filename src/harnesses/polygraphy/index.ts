import * as z from 'zod';
import type { HarnessResult } from '../../records/harness.ts';
import type { TimeStatistics } from '../../records/measurement.ts';
import { quantileSorted } from '../../statistics/quantile.ts';
import { defineDriver, type DriverPlace, type DriverPlan, type HarnessFiles, type LoneReport } from '../driver.ts';
import { argumentList, limitSettings, processSettings, programOf, startOf } from '../started-program.ts';

const DEFAULT_ESTIMATE_S = 60;

const polygraphySettings = z
  .strictObject({
    kind: z.literal('polygraphy'),
    run: argumentList
      .min(1)
      .describe(
        'polygraphy run and its arguments with --iterations N and --save-outputs {runFolder}/results.json; no shell reads them',
      ),
    warmUpRuns: z.number().int().min(0).describe('Runs before the timed ones: what --warm-up was told').optional(),
    ...processSettings,
    ...limitSettings(DEFAULT_ESTIMATE_S),
  })
  .describe('polygraphy run, which times one runner on the clock of the host');

type PolygraphySettings = z.infer<typeof polygraphySettings>;

/** `--save-outputs`: polygraphy's RunResults, of which the outputs themselves are not looked at. */
const resultsSchema = z.object({
  lst: z.array(z.tuple([z.string(), z.array(z.object({ runtime: z.number().positive().describe('Seconds') })).min(1)])),
});

/** One runner of a file, such as `trt-runner-N0-03/11/26-10:02:11`. */
interface RunnerResult {
  readonly runner: string;
  readonly result: HarnessResult;
}

/** The runners of a file; a problem in one line; null when it is something else. */
function readResults(text: string, warmUpRuns: number | null): RunnerResult[] | string | null {
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
      : `${z.core.toDotPath(issue.path)}: ${issue.message}`;
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

/** `polygraphy run`, by the times in the file of its `--save-outputs`. */
export const polygraphyDriver = defineDriver({
  kind: 'polygraphy',
  settings: polygraphySettings,
  plan,
  read,
  reports,
  mark: /^\s*\{\s*"lst"\s*:\s*\[/,
  needs: ['precision', 'shapes'],
});

const HARNESS = { name: 'polygraphy', timer: 'wall', metric: 'latencyMs' } as const;
const RESULTS = 'results.json';

function plan(settings: PolygraphySettings, { resolve }: DriverPlace): DriverPlan {
  return {
    kind: 'planned',
    cell: {
      harness: HARNESS,
      identity: {},
      argv: programOf(settings.run, resolve),
      resultFiles: [RESULTS],
      ...startOf(settings, resolve, DEFAULT_ESTIMATE_S),
    },
  };
}

function read(settings: PolygraphySettings, files: HarnessFiles): HarnessResult {
  const text = files.text(RESULTS);
  if (text === null) {
    return { kind: 'faulty', problem: `${RESULTS} was not written: add --save-outputs {runFolder}/${RESULTS}` };
  }
  const runners = readResults(text, settings.warmUpRuns ?? null) ?? 'no results of polygraphy';
  if (typeof runners === 'string') return { kind: 'faulty', problem: `${RESULTS}: ${runners}` };
  const [only] = runners;
  if (only === undefined || runners.length > 1) {
    return { kind: 'faulty', problem: `${RESULTS}: ${runners.length} runners instead of one` };
  }
  if (only.result.kind === 'faulty') return only.result;
  const { reading } = only.result;
  const method = { ...reading.method, harnessVersion: settings.version ?? null };
  return { kind: 'read', reading: { ...reading, method } };
}

function reports(text: string): LoneReport[] {
  const runners = readResults(text, null) ?? [];
  const found =
    typeof runners === 'string' ? [{ runner: '', result: { kind: 'faulty', problem: runners } as const }] : runners;
  return found.map(({ runner, result }) => ({
    harness: HARNESS,
    result,
    model: null,
    precision: null,
    shapes: null,
    cudaGraph: null,
    // Two runners in one file are two ways to run the model; the one of TensorRT needs no name.
    identity: runner === '' || runner.startsWith('trt-runner') ? {} : { runner: runnerKind(runner) },
    startedAt: null,
  }));
}

/** `onnxrt-runner` of `onnxrt-runner-N0-03/11/26-10:02:11`. */
function runnerKind(runner: string): string {
  return runner.replace(/-N\d+-.*$/, '');
}
