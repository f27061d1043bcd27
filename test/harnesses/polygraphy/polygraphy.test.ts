import { expect, test } from 'vitest';

import { polygraphyDriver } from '../../../src/harnesses/polygraphy.ts';

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

function read(json: string | null) {
  return polygraphyDriver.read(SETTINGS, { text: (name) => (name === 'results.json' ? json : null) });
}

test('the times of its iterations become statistics in milliseconds', () => {
  const seconds = [0.004, 0.001, 0.002, 0.003, 0.005, 0.006, 0.007, 0.008, 0.009, 0.01, 0.011];
  const result = read(results([TRT, seconds]));
  expect(result).toMatchObject({
    kind: 'read',
    reading: { method: { timer: 'wall', timedRuns: 11, warmUpRuns: 5, percentileRule: 'linear' } },
  });
  const latency = result.kind === 'read' ? result.reading.latencyMs : null;
  expect(latency?.min).toBeCloseTo(1, 10);
  expect(latency?.max).toBeCloseTo(11, 10);
  expect(latency?.median).toBeCloseTo(6, 10);
  expect(latency?.mean).toBeCloseTo(6, 10);
  // numpy.percentile(range(1, 12), 90)
  expect(latency?.percentiles['90']).toBeCloseTo(10, 10);
  expect(Object.keys(latency?.percentiles ?? {})).toEqual(['90']);
});

test.each([
  [null, 'results.json: the process wrote none: add --save-outputs {runFolder}/results.json'],
  ['{"lst": [[', 'results.json: no JSON, or not all of it: are they results of polygraphy?'],
  ['{}', 'results.json: no field lst: are they results of polygraphy?'],
  [results([TRT, [0.1]], ['onnxrt-runner-N1-x', [0.2]]), 'results.json: 2 results instead of one'],
])('a damaged file: %j', (json, problem) => {
  expect(read(json)).toEqual({ kind: 'faulty', problem });
});

test('an iteration without a time is named', () => {
  expect(read(results([TRT, [0.1, null]]))).toMatchObject({
    problem: expect.stringMatching(/^results\.json: lst\[0\]\[1\]\[1\]\.runtime: /),
  });
});

test('each runner of a standalone file is a cell of its own', () => {
  const json = results([TRT, [0.1]], ['onnxrt-runner-N1-11/21/26-10:02:12', [0.2]]);
  const reports = polygraphyDriver.reports(json, 'out.json');
  expect(reports.map(({ identity }) => identity)).toEqual([{}, { runner: 'onnxrt-runner' }]);
});

test('a standalone file that is cut off is told', () => {
  expect(polygraphyDriver.reports('{"lst": [[', 'x.json')).toMatchObject([
    { result: { problem: 'no JSON, or not all of it: are they results of polygraphy?' } },
  ]);
});

test('other JSON has no reports', () => {
  expect(polygraphyDriver.reports('{"lst": 1}', 'x.json')).toEqual([]);
  expect(polygraphyDriver.reports('[]', 'x.json')).toEqual([]);
});
