import type { HarnessResult } from '../../records/harness.ts';
import { customMetric, type CustomMetricId } from '../../records/metric.ts';
import { defineDriver, type DriverPlace, type DriverPlan, type HarnessFiles } from '../driver.ts';
import { programOf, startOf } from '../started-program.ts';
import { readTimes } from './report.ts';
import { DEFAULT_ESTIMATE_S, type GoogleBenchmarkSettings, googleBenchmarkSettings } from './settings.ts';

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
