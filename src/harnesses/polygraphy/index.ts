import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import type { HarnessResult, Method } from '../../records/harness.ts';
import type { TimeStatistics } from '../../records/measurement.ts';
import { quantileSorted } from '../../statistics/quantile.ts';
import {
  defineDriver,
  type DriverPlace,
  type DriverPlan,
  faulty,
  type HarnessFiles,
  type StandaloneReport,
  NOTHING_STATED,
} from '../driver.ts';
import { parsedJson } from '../json-report.ts';
import { plannedProgram, programSettings, runSetting } from '../started-program.ts';

const DEFAULT_ESTIMATE_S = 60;

const polygraphySettings = z
  .strictObject({
    kind: z.literal('polygraphy'),
    run: runSetting(
      'polygraphy run and its arguments with --iterations N and --save-outputs {runFolder}/results.json; no shell reads them',
    ),
    warmUpRuns: z.number().int().min(0).describe('Runs before the timed ones: the value of --warm-up').optional(),
    ...programSettings(DEFAULT_ESTIMATE_S),
  })
  .describe('polygraphy run, which times one runner on the clock of the host');

type PolygraphySettings = z.infer<typeof polygraphySettings>;

/** `--save-outputs`: polygraphy's RunResults; the outputs themselves are ignored. */
const resultsSchema = z.object({
  lst: z.array(z.tuple([z.string(), z.array(z.object({ runtime: z.number().positive().describe('Seconds') })).min(1)])),
});

/** One runner of a file, such as `trt-runner-N0-03/11/26-10:02:11`. */
interface RunnerResult {
  readonly runner: string;
  readonly result: HarnessResult;
}

/** The runners of a file; a problem in one line; null for any other file. */
function readResults(text: string, how: MeasuredHow): RunnerResult[] | string | null {
  const parsed = parsedJson(text);
  if (parsed === undefined) return 'not JSON: is it cut off?';
  const { success, data, error } = resultsSchema.safeParse(parsed);
  if (!success) {
    const [issue] = error.issues;
    return issue?.path.length === 0 || issue?.path[0] !== 'lst' || issue.path.length === 1
      ? null
      : `${toDotPath(issue.path)}: ${issue.message}`;
  }
  return data.lst.map(([runner, iterations]) => ({
    runner,
    result: resultOf(
      iterations.map(({ runtime }) => runtime * 1000),
      how,
    ),
  }));
}

type MeasuredHow = Pick<Method, 'harnessVersion' | 'warmUpRuns'>;

function resultOf(timesMs: readonly number[], { harnessVersion, warmUpRuns }: MeasuredHow): HarnessResult {
  const method: Method = {
    harness: 'polygraphy',
    harnessVersion,
    timer: 'wall',
    inFlight: 1,
    percentileRule: 'linear',
    transfers: null,
    warmUpRuns,
    timedRuns: timesMs.length,
  };
  return { kind: 'read', reading: { method, latencyMs: statisticsOf(timesMs), values: [] } };
}

/** Percentiles only where this many times were taken that they are not the largest one. */
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
  const cell = { harness: HARNESS, run: settings.run, resultFiles: [RESULTS] };
  return plannedProgram(settings, resolve, DEFAULT_ESTIMATE_S, cell);
}

function read({ version, warmUpRuns }: PolygraphySettings, files: HarnessFiles): HarnessResult {
  const text = files.text(RESULTS);
  if (text === null) return faulty(`${RESULTS} was not written: add --save-outputs {runFolder}/${RESULTS}`);
  const how = { harnessVersion: version ?? null, warmUpRuns: warmUpRuns ?? null };
  const runners = readResults(text, how) ?? 'no results of polygraphy';
  if (typeof runners === 'string') return faulty(`${RESULTS}: ${runners}`);
  const [only] = runners;
  return only === undefined || runners.length > 1
    ? faulty(`${RESULTS}: ${runners.length} runners instead of one`)
    : only.result;
}

function reports(text: string): StandaloneReport[] {
  const runners = readResults(text, { harnessVersion: null, warmUpRuns: null }) ?? [];
  const found = typeof runners === 'string' ? [{ runner: '', result: faulty(runners) }] : runners;
  return found.map(({ runner, result }) => ({
    ...NOTHING_STATED,
    harness: HARNESS,
    result,
    // Two runners in one file are two ways to run the model; the TensorRT runner needs no name.
    identity: runner === '' || runner.startsWith('trt-runner') ? {} : { runner: runnerKind(runner) },
  }));
}

/** `onnxrt-runner` of `onnxrt-runner-N0-03/11/26-10:02:11`. */
function runnerKind(runner: string): string {
  return runner.replace(/-N\d+-.*$/, '');
}
