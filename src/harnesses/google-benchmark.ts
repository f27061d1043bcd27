import * as z from 'zod';

import { customMetric, type CustomMetricId, metricOf } from '../records/metric.ts';
import { median } from '../statistics/order-statistics.ts';
import { defineHarness, inJson, partOf } from './define-harness.ts';
import * as setting from './settings.ts';

const NS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

/** Format of `src/json_reporter.cc` in google/benchmark since 1.5. Aggregates follow from the repetitions. */
const benchmarks = z.array(
  z.object({
    name: z.string(),
    run_name: z.string().optional(),
    run_type: z.string().optional(),
    error_occurred: z.boolean().optional(),
    error_message: z.string().optional(),
    real_time: z.number().optional(),
    time_unit: z.enum(['ns', 'us', 'ms', 's']).default('ns'),
  }),
);

/** Programs linked with google-benchmark, read from the JSON of `--benchmark_out`. */
export const googleBenchmarkDriver = defineHarness({
  kind: 'google-benchmark',
  about: 'A program of google-benchmark: the time of each of its benchmarks',
  settings: {
    run: setting.run(
      'A program linked with google-benchmark, and its arguments; no shell reads them. bench adds --benchmark_out. {batch} is replaced by the value of an axis',
    ),
    benchmark: setting.text('The benchmark that verdicts use, as the program names it: BM_copy/4096'),
    ...setting.program(10),
  },
  defaultEstimateS: 10,
  timer: 'wall',
  inFlight: 1,
  percentileRule: 'unknown',
  report: 'benchmark.json',
  started: ({ benchmark, run }) => ({
    metric: metricIdOf(benchmark),
    run: [...run, '--benchmark_out={runFolder}/benchmark.json', '--benchmark_out_format=json'],
  }),
  expected: ({ benchmark }) => [metricOf(metricIdOf(benchmark)).label],
  found: inJson('is it a report of google-benchmark?', null, (report) => {
    const all = partOf(report, 'benchmarks', benchmarks).filter(({ run_type: type }) => type !== 'aggregate');
    const broken = all.find((run) => run.error_occurred === true || run.real_time === undefined);
    if (broken !== undefined) return [{ problem: `${broken.name}: ${broken.error_message ?? 'real_time is missing'}` }];
    const values = [...Map.groupBy(all, (run) => run.run_name ?? run.name)].flatMap(([name, runs]) => {
      const value = median(runs.map(({ real_time: time = Number.NaN, time_unit: unit }) => time * NS[unit]));
      return value === null ? [] : [{ metric: metricIdOf(name), value }];
    });
    const version = report.at('context.library_version');
    return [{ harnessVersion: typeof version === 'string' ? version : null, values }];
  }),
});

/** Returns `BM_copy.4096:lower:ns` for `BM_copy/4096`, because names of metrics have no slashes. */
function metricIdOf(name: string): CustomMetricId {
  const plain = name.replaceAll(/[^\w.-]+/g, '.').replaceAll(/^[^A-Za-z]+|\.$/g, '');
  return customMetric((plain === '' ? 'benchmark' : plain).slice(0, 60), 'lower', 'ns');
}
