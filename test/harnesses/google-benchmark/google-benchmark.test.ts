import { expect, test } from 'vitest';

import { googleBenchmarkDriver } from '../../../src/harnesses/google-benchmark.ts';
import { placeWith, plannedCell, readingOf } from '../../support/driver-place.ts';

const SETTINGS = { kind: 'google-benchmark', run: ['./copy', '{batch}'], benchmark: 'BM_copy/4096' };

/** In the form of `src/json_reporter.cc` of google/benchmark; the numbers are made up. */
const report = (benchmarks: readonly object[]): string =>
  JSON.stringify({ context: { library_version: 'v1.8.3', num_cpus: 2 }, benchmarks });

const COPY = { name: 'BM_copy/4096', run_name: 'BM_copy/4096', run_type: 'iteration', time_unit: 'ns' };
const REPORT = report([
  ...[210, 200, 400].map((time) => ({ ...COPY, real_time: time })),
  { ...COPY, name: 'BM_copy/4096_mean', run_type: 'aggregate', real_time: 270 },
  { name: 'BM_sum/8/threads:2', run_type: 'iteration', real_time: 1.5, time_unit: 'us' },
]);

const read = (text: string | null) => readingOf(googleBenchmarkDriver, SETTINGS, { 'benchmark.json': text });

test('it is started with its report in the folder of the run', () => {
  const added = ['--benchmark_out={runFolder}/benchmark.json', '--benchmark_out_format=json'];
  expect(plannedCell(googleBenchmarkDriver, SETTINGS, placeWith({}))).toMatchObject({
    argv: ['/m/copy', '{batch}', ...added],
    harness: { name: 'google-benchmark', timer: 'wall', metric: 'BM_copy.4096:lower:ns' },
    resultFiles: ['benchmark.json'],
  });
});

test('the median of the repetitions counts, in nanoseconds; aggregates are left out', () => {
  expect(read(REPORT)).toMatchObject({
    kind: 'read',
    reading: {
      method: { harnessVersion: 'v1.8.3', timer: 'wall' },
      values: [
        { metric: 'BM_copy.4096:lower:ns', value: 210 },
        { metric: 'BM_sum.8.threads.2:lower:ns', value: 1500 },
      ],
    },
  });
});

test.each([
  ['no report', null, 'benchmark.json: the process did not write it'],
  ['no JSON', '{"bench', 'benchmark.json: not complete JSON: is it a report of google-benchmark?'],
  ['another JSON', '{}', 'benchmark.json: field benchmarks is missing: is it a report of google-benchmark?'],
  [
    'an error of the benchmark',
    report([{ name: 'BM_copy/4096', error_occurred: true, error_message: 'no device' }]),
    'benchmark.json: BM_copy/4096: no device',
  ],
  [
    'a benchmark without a time',
    report([{ name: 'BM_copy/4096' }]),
    'benchmark.json: BM_copy/4096: real_time is missing',
  ],
  ['another benchmark', report([{ name: 'BM_x', real_time: 1 }]), 'benchmark.json: no BM_copy.4096 (it has BM_x)'],
])('%s is one line', (_, text, problem) => expect(read(text)).toEqual({ kind: 'faulty', problem }));
