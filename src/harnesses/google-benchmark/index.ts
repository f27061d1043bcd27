import * as z from 'zod';
import type { HarnessResult } from '../../records/harness.ts';
import { customMetric, type CustomMetricId } from '../../records/metric.ts';
import { median } from '../../statistics/median.ts';
import { defineDriver, type DriverPlace, type DriverPlan, type HarnessFiles } from '../driver.ts';
import { readReport } from '../json-report.ts';
import { argumentList, limitSettings, processSettings, programOf, startOf } from '../started-program.ts';

const DEFAULT_ESTIMATE_S = 10;

const googleBenchmarkSettings = z
  .strictObject({
    kind: z.literal('google-benchmark'),
    run: argumentList
      .min(1)
      .describe(
        'A program linked with google-benchmark, and its arguments; no shell reads them. bench adds --benchmark_out. {batch} stands for an axis',
      ),
    benchmark: z
      .string()
      .min(1)
      .describe('The benchmark that the cell is judged by, as the program names it: BM_copy/4096'),
    ...processSettings,
    ...limitSettings(DEFAULT_ESTIMATE_S),
  })
  .describe('A program of google-benchmark: the time of each of its benchmarks');

type GoogleBenchmarkSettings = z.infer<typeof googleBenchmarkSettings>;

/** Programs linked with google-benchmark, by the JSON of `--benchmark_out`. */
export const googleBenchmarkDriver = defineDriver({
  kind: 'google-benchmark',
  settings: googleBenchmarkSettings,
  plan,
  read,
});

const NAME = 'google-benchmark';
const REPORT = 'benchmark.json';

function plan(settings: GoogleBenchmarkSettings, { resolve }: DriverPlace): DriverPlan {
  const out = [`--benchmark_out={runFolder}/${REPORT}`, '--benchmark_out_format=json'];
  return {
    kind: 'planned',
    cell: {
      harness: { name: NAME, timer: 'wall', metric: metricIdOf(settings.benchmark) },
      identity: {},
      argv: programOf([...settings.run, ...out], resolve),
      resultFiles: [REPORT],
      ...startOf(settings, resolve, DEFAULT_ESTIMATE_S),
    },
  };
}

function read(settings: GoogleBenchmarkSettings, files: HarnessFiles): HarnessResult {
  const times = readTimes(files, REPORT);
  if (times.kind === 'faulty') return times;
  const values = [...times.nsByName].map(([name, value]) => ({ metric: metricIdOf(name), value }));
  if (!times.nsByName.has(settings.benchmark)) {
    const names = [...times.nsByName.keys()].slice(0, 5).join(', ');
    return { kind: 'faulty', problem: `${REPORT}: no benchmark ${settings.benchmark} (it has ${names || 'none'})` };
  }
  return {
    kind: 'read',
    reading: {
      method: {
        harness: NAME,
        harnessVersion: settings.version ?? times.libraryVersion,
        timer: 'wall',
        inFlight: 1,
        percentileRule: 'unknown',
        transfers: null,
        warmUpRuns: null,
        timedRuns: null,
      },
      latencyMs: null,
      values,
    },
  };
}

/** `BM_copy/4096` as `BM_copy.4096:lower:ns`: names of metrics have no slashes. */
function metricIdOf(name: string): CustomMetricId {
  const plain = name.replaceAll(/[^\w.-]+/g, '.').replaceAll(/^[^A-Za-z]+|\.$/g, '');
  return customMetric((plain === '' ? 'benchmark' : plain).slice(0, 60), 'lower', 'ns');
}

/** Nanoseconds of each unit that google-benchmark prints. */
const NS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

/** `src/json_reporter.cc` of google/benchmark, from 1.5 on; aggregates follow from the repetitions. */
const reportSchema = z.object({
  context: z.object({ library_version: z.string().optional() }).optional(),
  benchmarks: z.array(
    z.object({
      name: z.string(),
      run_name: z.string().optional(),
      run_type: z.string().optional(),
      error_occurred: z.boolean().optional(),
      error_message: z.string().optional(),
      real_time: z.number().optional(),
      time_unit: z.enum(['ns', 'us', 'ms', 's']).default('ns'),
    }),
  ),
});

type Times =
  | {
      readonly kind: 'read';
      readonly libraryVersion: string | null;
      /** Median of the repetitions of each benchmark, wall time of one iteration. */
      readonly nsByName: ReadonlyMap<string, number>;
    }
  | { readonly kind: 'faulty'; readonly problem: string };

function readTimes(files: HarnessFiles, name: string): Times {
  const report = readReport(reportSchema, files, name, 'is it a report of google-benchmark?');
  if (report.kind === 'faulty') return report;
  const { benchmarks, context } = report.data;
  const runs = benchmarks.filter(({ run_type: type }) => type !== 'aggregate');
  const broken = runs.find(({ error_occurred: hasError }) => hasError === true);
  if (broken !== undefined) {
    const said = broken.error_message ?? 'an error without a word';
    return { kind: 'faulty', problem: `${name}: ${broken.name}: ${said}` };
  }
  const byName = Map.groupBy(runs, (run) => run.run_name ?? run.name);
  const nsByName = new Map<string, number>();
  for (const [benchmark, repetitions] of byName) {
    const times = repetitions.flatMap(({ real_time: time, time_unit: unit }) =>
      time === undefined ? [] : [time * NS[unit]],
    );
    const middle = times.length === repetitions.length ? median(times) : null;
    if (middle === null) return { kind: 'faulty', problem: `${name}: ${benchmark}: no real_time` };
    nsByName.set(benchmark, middle);
  }
  return { kind: 'read', libraryVersion: context?.library_version ?? null, nsByName };
}
