import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { trtllmBenchDriver } from '../../../src/harnesses/trtllm-bench.ts';
import { isMetric } from '../../../src/records/metric.ts';
import { bench, ROOT, temporaryStore } from '../../support/bench.ts';
import { placeWith, plannedCell, readingOf, refusedBy } from '../../support/driver-place.ts';

const HASH = '5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef';
const place = placeWith({ '/m/set.jsonl': HASH, '/m/llm.yaml': 'c0ffee'.repeat(10) });
const SETTINGS = { kind: 'trtllm-bench', mode: 'throughput', model: 'meta-llama/Llama-3.1-8B', dataset: 'set.jsonl' };
const cellOf = (more: object = {}) => plannedCell(trtllmBenchDriver, { ...SETTINGS, ...more }, place);
const refusalOf = (more: object) => refusedBy(trtllmBenchDriver, { ...SETTINGS, ...more }, place);

describe('the command line', () => {
  test('that of the documentation of TensorRT-LLM', () => {
    const model = { model: 'deepseek-ai/DeepSeek-V3', modelPath: '/models/DeepSeek-V3' };
    expect(cellOf({ ...model, warmup: 0, backend: 'pytorch', streaming: true }).argv.join(' ')).toBe(
      'trtllm-bench --model deepseek-ai/DeepSeek-V3 --model_path /models/DeepSeek-V3 throughput --dataset /m/set.jsonl --warmup 0 --backend pytorch --streaming --report_json {runFolder}/report.json',
    );
  });

  test('all of it, each setting its option', () => {
    const sizes = { concurrency: 8, requests: 100, tp: 2, pp: 1, ep: 2 };
    const limits = { maxBatchSize: 64, maxNumTokens: 4096, maxSeqLen: 2048, kvCacheFraction: 0.8 };
    const program = ['mpirun', '-n', '2', './bin/trtllm-bench'];
    const more = { program, config: 'llm.yaml', extraArgs: ['--eos_id', '-1'] };
    expect(
      cellOf({ ...sizes, ...limits, ...more })
        .argv.slice(3)
        .join(' '),
    ).toBe(
      './bin/trtllm-bench --model meta-llama/Llama-3.1-8B throughput --dataset /m/set.jsonl --backend pytorch --concurrency 8 --num_requests 100 --tp 2 --pp 1 --ep 2 --max_batch_size 64 --max_num_tokens 4096 --max_seq_len 2048 --kv_cache_free_gpu_mem_fraction 0.8 --extra_llm_api_options /m/llm.yaml --eos_id -1 --report_json {runFolder}/report.json',
    );
  });

  test('latency mode, a built engine', () => {
    const { argv, harness } = cellOf({ mode: 'latency', backend: 'tensorrt', engineDir: 'engines/llama' });
    const text = ' latency --dataset /m/set.jsonl --backend tensorrt --engine_dir /m/engines/llama ';
    expect(argv.join(' ')).toContain(text);
    expect(harness).toEqual({ name: 'trtllm-bench', timer: 'wall', metric: 'requestLatencyMean:lower:ms' });
  });
});

test('the cell: is what changes the question: the data set by its content, no path', () => {
  const cell = cellOf({ concurrency: 8, streaming: true, extraArgs: ['--eos_id=-1', '--quiet'] });
  expect(cell.identity).toEqual({
    mode: 'throughput',
    checkpoint: 'meta-llama/Llama-3.1-8B',
    backend: 'pytorch',
    dataset: '5f70bf18a086',
    streaming: '',
    concurrency: '8',
    '--eos_id': '-1',
    '--quiet': '',
  });
  expect(cell.harness.metric).toBe('outputThroughput:higher:tok/s');
  expect(cellOf({ warmup: 5, modelPath: '/elsewhere' }).identity).toEqual(cellOf().identity);
});

test('its GPUs are those of tensor and pipeline parallelism together', () => {
  expect([{}, { tp: 2 }, { tp: 2, pp: 2, ep: 2 }].map((more) => cellOf(more).gpus ?? 1)).toEqual([1, 2, 4]);
});

test.each([
  [{ config: 'no.yaml' }, 'config', /file not found/],
  [{ dataset: 'sets/a.jsonl' }, 'dataset', /file not found/],
])('what is refused: %j', (more, path, problem) => {
  expect(refusalOf(more)).toEqual({ path, problem: expect.stringMatching(problem) });
});

const REPORT = readFileSync(join(ROOT, 'test/fixtures/trtllm-bench/report.json'), 'utf8');
const readOf = (text: string | null, more: object = {}) =>
  readingOf(trtllmBenchDriver, { ...SETTINGS, ...more }, { 'report.json': text });
const without = (...path: readonly string[]): string => {
  const report = JSON.parse(REPORT);
  delete path.slice(0, -1).reduce((value, step) => value[step], report)[path.at(-1) ?? ''];
  return JSON.stringify(report);
};

describe('the report', () => {
  test('its numbers, and how they were taken', () => {
    const result = readOf(REPORT, { concurrency: 8, streaming: true, warmup: 3 });
    if (result.kind === 'faulty') throw new Error(result.problem);
    const { latencyMs, method, values } = result.reading;
    const about = { harness: 'trtllm-bench', harnessVersion: '1.2.0rc3', timer: 'wall', transfers: true } as const;
    const runs = { inFlight: 8, percentileRule: 'orderStatistic', warmUpRuns: 3, timedRuns: 100 } as const;
    expect(method).toEqual({ ...about, ...runs });
    expect([latencyMs?.median, latencyMs?.percentiles['95']]).toEqual([356, expect.closeTo(434.8, 9)]);
    expect(values.every(({ metric }) => isMetric(metric))).toBe(true);
    expect(Object.fromEntries(values.map(({ metric, value }) => [metric, value]))).toMatchObject({
      'outputThroughput:higher:tok/s': 1461.4219592634008,
      'requestLatencyP90:lower:ms': 422.5,
      'ttftMean:lower:ms': 22.95,
      'tpotP50:lower:ms': 5.2,
    });
    expect(values).toHaveLength(21);
  });

  test('an older report has no total throughput, and not streamed no times of tokens', () => {
    const old = JSON.parse(without('performance', 'system_total_throughput_tok_s'));
    delete old.streaming_metrics;
    const result = readOf(JSON.stringify(old));
    expect(result.kind === 'read' && result.reading.values).toHaveLength(9);
  });

  test.each([
    [null, 'report.json: the process did not write it'],
    [REPORT.slice(0, 400), 'report.json: not complete JSON: is it a report of trtllm-bench 1.2?'],
    [
      without('performance', 'request_throughput_req_s'),
      'report.json: field performance.request_throughput_req_s is missing: is it a report of trtllm-bench 1.2?',
    ],
    [
      without('streaming_metrics', 'ttft_percentiles', 'p90'),
      'report.json: field streaming_metrics.ttft_percentiles.p90 is missing: is it a report of trtllm-bench 1.2?',
    ],
    [
      without('streaming_metrics'),
      'report.json: no ttftMean (it has requestThroughput, outputThroughput, totalThroughput, outputThroughputPerUser, outputThroughputPerGpu)',
    ],
    [
      REPORT.replace('"avg_ttft_ms": 22.95', '"avg_ttft_ms": "fast"'),
      'report.json: streaming_metrics.avg_ttft_ms is not a number: is it a report of trtllm-bench 1.2?',
    ],
  ])('what is missing is one line (case %#)', (text, problem) => {
    expect(readOf(text, { streaming: true })).toEqual({ kind: 'faulty', problem });
  });
});

test('reports of two versions are compared, but not without a word', async () => {
  const { db, folder } = temporaryStore();
  for (const [version, throughput] of [
    ['1.1.0', '1461.4'],
    ['1.2.0rc7', '1169.1'],
  ] as const) {
    const files = [1, 2, 3].map((run) => join(folder, `${run}-${version}.json`));
    const text = REPORT.replace('1.2.0rc3', version).replace('1461.4219592634008', throughput);
    for (const [run, file] of files.entries()) writeFileSync(file, text.replace('22.95', `22.9${run}`));
    await bench(['import', ...files, '--sweep', version, '--db', db]);
  }
  const sides = ['1.1.0', '1.2.0rc7'];
  for (const words of [
    ['compare', ...sides],
    ['why', 'llama', ...sides],
    ['report', ...sides, '--md', '-'],
    ['check'],
  ]) {
    const { stdout } = await bench([...words, '--db', db], { env: { COLUMNS: '200' } });
    expect(stdout).toContain('harness trtllm-bench 1.1.0 → trtllm-bench 1.2.0rc7');
  }
});

describe('a report that lies alone', () => {
  test('is a cell by the size of its requests', () => {
    const [report, ...more] = trtllmBenchDriver.reports(REPORT, 'night.json');
    expect(more).toEqual([]);
    expect(report).toMatchObject({
      harness: { name: 'trtllm-bench', timer: 'wall', metric: 'outputThroughput:higher:tok/s' },
      model: 'meta-llama/Llama-3.1-8B',
      precision: 'bf16',
      shapes: null,
      startedAt: null,
      identity: { backend: 'pytorch', requests: '100', inputTokens: '124', outputTokens: '65', streaming: '' },
    });
    const expected = { harnessVersion: '1.2.0rc3', inFlight: null, warmUpRuns: null };
    expect(report?.result.kind === 'read' && report.result.reading.method).toMatchObject(expected);
  });

  test('a quantization has its word, or none', () => {
    const precisionOf = (quantization: string) =>
      trtllmBenchDriver.reports(
        REPORT.replace('"quantization": null', `"quantization": "${quantization}"`),
        'r.json',
      )[0]?.precision;
    expect([precisionOf('FP8'), precisionOf('NVFP4')]).toEqual(['fp8', null]);
  });
});
