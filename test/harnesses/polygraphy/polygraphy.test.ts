import { expect, test } from 'vitest';

import { polygraphyDriver } from '../../../src/harnesses/polygraphy.ts';
import { readingOf } from '../../support/driver-place.ts';

/** As `--save-outputs` writes it: RunResults of IterationResults, with the runtime in seconds. The numbers are made up. */
function results(...runners: readonly [name: string, seconds: readonly unknown[]][]): string {
  return JSON.stringify({
    lst: runners.map(([name, seconds]) => [
      name,
      seconds.map((runtime) => ({ outputs: {}, runtime, runner_name: name, polygraphy_class: 'IterationResult' })),
    ]),
    polygraphy_class: 'RunResults',
  });
}

const TRT = 'trt-runner-N0-11/21/26-10:02:11';
const SETTINGS = { kind: 'polygraphy', run: ['polygraphy', 'run'], warmUpRuns: 5 };

const read = (json: string | null) => readingOf(polygraphyDriver, SETTINGS, { 'results.json': json });

test('the times of its iterations become statistics in milliseconds', () => {
  const result = read(results([TRT, [0.004, 0.001, 0.002, 0.003, 0.005, 0.006, 0.007, 0.008, 0.009, 0.01, 0.011]]));
  const reading = { method: { timer: 'wall', timedRuns: 11, warmUpRuns: 5, percentileRule: 'linear' } };
  expect(result).toMatchObject({ kind: 'read', reading });
  const latency = result.kind === 'read' ? result.reading.latencyMs : null;
  const about = (value: number) => expect.closeTo(value, 10);
  // numpy.percentile(range(1, 12), 90)
  const percentiles = { '90': about(10) };
  expect(latency).toEqual({ min: about(1), max: about(11), median: about(6), mean: about(6), percentiles });
});

test.each([
  [null, 'results.json: the process did not write it: add --save-outputs {runFolder}/results.json'],
  ['{"lst": [[', 'results.json: not complete JSON: are they results of polygraphy?'],
  ['{}', 'results.json: field lst is missing: are they results of polygraphy?'],
  [results([TRT, [0.1]], ['onnxrt-runner-N1-x', [0.2]]), 'results.json: 2 results instead of one'],
])('a damaged file: %j', (json, problem) => {
  expect(read(json)).toEqual({ kind: 'faulty', problem });
  const untimed = read(results([TRT, [0.1, null]]));
  expect(untimed.kind === 'faulty' ? untimed.problem : '').toMatch(/^results\.json: lst\[0\]\[1\]\[1\]\.runtime: /);
});

test('each runner of a standalone file is a cell of its own', () => {
  const json = results([TRT, [0.1]], ['onnxrt-runner-N1-11/21/26-10:02:12', [0.2]]);
  const reports = polygraphyDriver.reports(json, 'out.json');
  expect(reports.map(({ identity }) => identity)).toEqual([{}, { runner: 'onnxrt-runner' }]);
});
