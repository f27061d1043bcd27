import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { isMetric } from '../../../src/records/metric.ts';
import { aiperfDriver } from '../../../src/harnesses/aiperf.ts';
import { ROOT } from '../../support/bench.ts';
import { placeWith, plannedCell, readingOf, refusedBy } from '../../support/driver-place.ts';

const place = placeWith({
  '/m/aiperf.yaml': '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef',
  '/m/tok/tokenizer.json': 'c0ffee'.repeat(10),
});
const SETTINGS = { kind: 'aiperf', url: 'http://localhost:8000', model: 'tiny', requestCount: 40 };
const cellOf = (more: object = {}) => plannedCell(aiperfDriver, { ...SETTINGS, ...more }, place);
const refusalOf = (more: object) => refusedBy(aiperfDriver, { ...SETTINGS, ...more }, place);

test('the command line: each setting its option', () => {
  const load = { streaming: 'on', concurrency: 8, requestRate: 2.5, warmup: 4, seed: 7 };
  const tokens = { inputTokens: { mean: 32, stddev: 4 }, outputTokens: { mean: 16, stddev: 0 }, tokenizer: './tok' };
  const program = { program: './venv/bin/aiperf', config: 'aiperf.yaml', extraArgs: ['--no-server-metrics'] };
  expect(cellOf({ ...load, ...tokens, ...program, extraInputs: { ignore_eos: true, top_p: 0.9 } }).argv.join(' ')).toBe(
    '/m/venv/bin/aiperf profile --config /m/aiperf.yaml --model tiny --url http://localhost:8000 --endpoint-type chat --streaming --concurrency 8 --request-rate 2.5 --request-count 40 --warmup-request-count 4 --synthetic-input-tokens-mean 32 --synthetic-input-tokens-stddev 4 --output-tokens-mean 16 --output-tokens-stddev 0 --random-seed 7 --tokenizer /m/tok --extra-inputs ignore_eos:true --extra-inputs top_p:0.9 --no-server-metrics --artifact-dir {runFolder} --ui none',
  );
});

describe('the cell', () => {
  test('is what was asked for, not where', () => {
    expect(cellOf({ tokenizer: 'org/tok', inputTokens: { mean: 32, stddev: 4 } }).identity).toEqual({
      served: 'tiny',
      endpoint: 'chat',
      concurrency: '1',
      requests: '40',
      inputTokens: '32',
      inputStddev: '4',
      seed: '0',
      tokenizer: 'org/tok',
    });
    const expected = { config: '5f70bf18a086', tokenizer: 'c0ffeec0ffee' };
    expect(cellOf({ config: 'aiperf.yaml', tokenizer: './tok' }).identity).toMatchObject(expected);
    expect(cellOf({ url: 'http://elsewhere', warmup: 3 }).identity).toEqual(cellOf().identity);
  });

  test.each([
    [{}, 'outputThroughput:higher:tok/s'],
    [{ requestRate: 2 }, 'requestLatencyMean:lower:ms'],
    [{ requestRate: 2, streaming: true }, 'ttftMean:lower:ms'],
    [{ endpointType: 'embeddings' }, 'requestThroughput:higher:req/s'],
  ])('is judged by what it leaves open: %j', (more, metric) => {
    expect(cellOf(more).harness).toEqual({ name: 'aiperf', timer: 'wall', metric });
  });
});

test.each([
  [{ apiKey: 'sk-1234567' }, 'apiKey', /^bench stores settings: name a variable instead of the key/],
  [{ extraArgs: ['--api-key=sk-1234567'] }, 'extraArgs', /^--api-key: bench stores command lines/],
  [{ extraArgs: ['-H', 'Authorization: Bearer sk-1'] }, 'extraArgs', /^-H: bench stores command lines/],
  [{ url: 'http://me:sk-1234567@host' }, 'url', /without name and password/],
  [{ url: 'localhost:8000' }, 'url', /write one such as/],
  [{ config: 'no.yaml' }, 'config', /^no.yaml: file not found/],
  [{ tokenizer: './no' }, 'tokenizer', /^.\/no\/tokenizer.json: file not found/],
])('refused: %j', (more, path, problem) => {
  const refusal = refusalOf(more);
  expect(refusal).toEqual({ path, problem: expect.stringMatching(problem) });
  expect(refusal?.problem).not.toContain('sk-1');
});

const NAME = 'profile_export_aiperf.json';
const REPORT = readFileSync(join(ROOT, 'test/fixtures/aiperf', NAME), 'utf8');
const readOf = (text: string | null, more: object = {}) =>
  readingOf(aiperfDriver, { ...SETTINGS, ...more }, { [NAME]: text });
const changed = (more: object): string => JSON.stringify({ ...JSON.parse(REPORT), ...more });

describe('a report of the real AIPerf 0.13.0', () => {
  test('its numbers, and how they were taken', () => {
    const result = readOf(REPORT, { concurrency: 2, warmup: 4, streaming: true });
    if (result.kind === 'faulty') throw new Error(result.problem);
    const { latencyMs, method, values } = result.reading;
    const about = { harness: 'aiperf', harnessVersion: '0.13.0', timer: 'wall', transfers: true } as const;
    const runs = { inFlight: 2, percentileRule: 'linear', warmUpRuns: 4, timedRuns: 40 } as const;
    expect(method).toEqual({ ...about, ...runs });
    expect(latencyMs).toEqual({
      min: 55.277494,
      max: 280.496193,
      mean: 141.61352134999998,
      median: 131.6366905,
      percentiles: { '90': 186.0517536000001, '95': 266.26543754999994, '99': 279.59384337 },
    });
    expect(values.every(({ metric }) => isMetric(metric))).toBe(true);
    expect(Object.fromEntries(values.map(({ metric, value }) => [metric, value]))).toMatchObject({
      'outputThroughput:higher:tok/s': 194.20355850595777,
      'requestLatencyMean:lower:ms': 141.61352134999998,
      'ttftP99:lower:ms': 81.73297416999999,
      'itlP50:lower:ms': 6.1358839666666665,
    });
    expect(values).toHaveLength(19);
  });

  const failed = { error_request_count: { unit: 'requests', avg: 5 } };
  test.each([
    [null, `${NAME}: the process did not write it`],
    [
      changed({ request_latency: undefined }),
      `${NAME}: field request_latency.p90 is missing: is it a report of AIPerf 0.13?`,
    ],
    [
      changed({ request_throughput: { unit: 'requests/min', avg: 3 } }),
      `${NAME}: request_throughput is not in requests/sec`,
    ],
    [
      changed({ time_to_first_token: undefined }),
      `${NAME}: no ttftMean (it has requestThroughput, outputThroughput, totalThroughput, outputThroughputPerUser, requestLatencyMean)`,
    ],
    [changed(failed), `${NAME}: 5 of 45 requests failed`],
    [changed({ was_cancelled: true }), `${NAME}: the run was cancelled`],
    [changed({ is_complete: false }), `${NAME}: not complete: some records are missing`],
  ])('what makes it none is one line (case %#)', (text, problem) => {
    expect(readOf(text, { streaming: true })).toEqual({ kind: 'faulty', problem });
  });
});

test('a report that lies alone: says itself what was asked for: the cell of a matrix, but for the tokenizer', () => {
  const [report, ...more] = aiperfDriver.reports(REPORT, 'night.json');
  expect(more).toEqual([]);
  const tokens = { inputTokens: { mean: 32, stddev: 4 }, outputTokens: { mean: 16 } };
  const planned = cellOf({ streaming: true, concurrency: 2, ...tokens, seed: 7 });
  const { served, ...identity } = planned.identity;
  expect([report, report?.startedAt]).toMatchObject([{ model: served, identity, harness: planned.harness }, null]);
  expect(report?.result.kind === 'read' && report.result.reading.method).toMatchObject({ inFlight: 2, warmUpRuns: 4 });
});
