import * as z from 'zod';
import type { HarnessResult, HarnessValue, Method } from '../../records/harness.ts';
import { customMetric, type CustomMetricId } from '../../records/metric.ts';
import { median } from '../../statistics/median.ts';
import { defineDriver, type DriverPlace, type DriverPlan, faulty, type HarnessFiles } from '../driver.ts';
import { readReport } from '../json-report.ts';
import { plannedProgram, programSettings, runSetting, textSetting } from '../started-program.ts';

const DEFAULT_ESTIMATE_S = 10;

const googleBenchmarkSettings = z
  .strictObject({
    kind: z.literal('google-benchmark'),
    run: runSetting(
      'A program linked with google-benchmark, and its arguments; no shell reads them. bench adds --benchmark_out. {batch} is replaced by the value of an axis',
    ),
    benchmark: textSetting('The benchmark that the cell is judged by, as the program names it: BM_copy/4096'),
    ...programSettings(DEFAULT_ESTIMATE_S),
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
  return plannedProgram(settings, resolve, DEFAULT_ESTIMATE_S, {
    harness: { name: NAME, timer: 'wall', metric: metricIdOf(settings.benchmark) },
    run: [...settings.run, `--benchmark_out={runFolder}/${REPORT}`, '--benchmark_out_format=json'],
    resultFiles: [REPORT],
  });
}

function read({ benchmark, version }: GoogleBenchmarkSettings, files: HarnessFiles): HarnessResult {
  const report = readReport(reportSchema, files, REPORT, 'is it a report of google-benchmark?');
  if (report.kind === 'faulty') return report;
  const { benchmarks, context } = report.data;
  const runs = benchmarks.filter(({ run_type: type }) => type !== 'aggregate');
  const broken = runs.find(({ error_occurred: hasError }) => hasError === true);
  if (broken !== undefined) {
    return faulty(`${REPORT}: ${broken.name}: ${broken.error_message ?? 'an error without a word'}`);
  }
  const byName = Map.groupBy(runs, (run) => run.run_name ?? run.name);
  const values: HarnessValue[] = [];
  for (const [name, repetitions] of byName) {
    const times = repetitions.flatMap(({ real_time: time, time_unit: unit }) =>
      time === undefined ? [] : [time * NS[unit]],
    );
    const value = times.length === repetitions.length ? median(times) : null;
    if (value === null) return faulty(`${REPORT}: ${name}: no real_time`);
    values.push({ metric: metricIdOf(name), value });
  }
  if (!byName.has(benchmark)) {
    const names = [...byName.keys()].slice(0, 5).join(', ');
    return faulty(`${REPORT}: no benchmark ${benchmark} (it has ${names || 'none'})`);
  }
  const method: Method = {
    harness: NAME,
    harnessVersion: version ?? context?.library_version ?? null,
    timer: 'wall',
    inFlight: 1,
    percentileRule: 'unknown',
    transfers: null,
    warmUpRuns: null,
    timedRuns: null,
  };
  return { kind: 'read', reading: { method, latencyMs: null, values } };
}

/** `BM_copy/4096` as `BM_copy.4096:lower:ns`: names of metrics have no slashes. */
function metricIdOf(name: string): CustomMetricId {
  const plain = name.replaceAll(/[^\w.-]+/g, '.').replaceAll(/^[^A-Za-z]+|\.$/g, '');
  return customMetric((plain === '' ? 'benchmark' : plain).slice(0, 60), 'lower', 'ns');
}

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
