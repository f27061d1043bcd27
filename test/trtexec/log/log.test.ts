import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';

import { describe, expect, test } from 'vitest';

import { derive } from '../../../src/trtexec/log/derived.ts';
import { LogLineReader, type LogMessage } from '../../../src/trtexec/log/log-lines.ts';
import { ownLines } from '../../../src/trtexec/log/trtexec-log.ts';
import { GUIDE, onlyRun, readFixture, recordedRun } from '../../support/recordings.ts';
import { judged, parseTrtexecLog } from '../../support/whole-files.ts';

test('banner, device and engine lines of a run from a loaded engine', () => {
  const run = recordedRun('formats/enqueue-bound');
  expect(run.tensorrtVersion).toEqual({ major: 10, minor: 6, patch: 0 });
  expect(run.options).toMatchObject({
    shapes: { input: [8, 3, 32, 32] },
    iterations: 10,
    durationS: 1,
    warmUpMs: 200,
    streams: 1,
    cudaGraph: false,
    dataTransfers: true,
    spinWait: true,
    percentiles: [90, 95, 99],
    exportTimes: 'runs/formats/enqueue-bound/times.json',
  });
  expect(run.device).toMatchObject({ name: 'NVIDIA H200', computeCapability: '9.0', globalMemoryMib: 143155 });
  expect(run.build).toMatchObject({ deserializedS: 0.0199755, contextMemoryMib: 1.5 });
  expect([run.inputBindings, run.warmUpQueries, run.queries]).toEqual([{ input: [8, 3, 32, 32] }, 2953, 14680]);
});

test('a build: shapes of the profile, seconds and size', () => {
  const run = recordedRun('formats/build-resnet-tiny');
  expect(run.options).toMatchObject({ precision: 'Strongly Typed', profilingVerbosity: 2 });
  expect(run.options.buildShapes).toEqual({
    input: { min: [1, 3, 32, 32], opt: [8, 3, 32, 32], max: [32, 3, 32, 32] },
  });
  expect(run.build.inferenceSkipped).toBe(true);
  expect(run.build.engineBuiltS).toBeGreaterThan(0);
  expect(run.build.createdEngineMib).toBeGreaterThan(0);
  expect([run.build.peakMemoryMib, run.measurement]).toEqual([5, null]);
});

test('an enqueue-bound run with its evidence', () => {
  const bound = recordedRun('formats/enqueue-bound');
  expect([bound.hints.map(({ id }) => id), bound.hints[1]?.value]).toEqual([['enqueue_bound', 'unstable'], 3.9241]);
});

test('several streams capture several graphs', () => {
  const ids = recordedRun('formats/streams-4-graph').hints.map(({ id }) => id);
  expect(ids.filter((id) => id === 'graph_ok')).toHaveLength(4);
  expect(ids).toContain('multi_stream');
});

test('two runs in one log are two runs with their own numbers', () => {
  const { runs } = parseTrtexecLog(readFixture('formats/two-runs-one-log/stdout.log.br'));
  expect(runs.map(({ options }) => options.shapes['input']?.[0])).toEqual([8, 32]);
  expect(runs.map(({ closingMarker }) => closingMarker)).toEqual(['PASSED', 'PASSED']);
});

test('stderr lines go to the run whose time they were logged in', () => {
  const run = (name: string, line: string): string => {
    const marker = `TensorRT.trtexec [TensorRT v100600] # ${name}`;
    return `&&&& RUNNING ${marker}\n[11/21/2026-07:00:${line}\n&&&& PASSED ${marker}\n`;
  };
  const stdout = run('a', '00] [I] one') + run('b', '10] [I] two');
  const stderr = '[11/21/2026-07:00:01] [E] first\nwithout a prefix: error\n[11/21/2026-07:00:12] [E] second';
  const { runs } = parseTrtexecLog(stdout, stderr);
  expect(runs.map(({ errors }) => errors.map(({ text }) => text))).toEqual([['first'], ['second']]);
});

test('a killed run before another one stays open, and the children of the tuner are runs of their own', () => {
  const { runs } = parseTrtexecLog(
    [
      '&&&& RUNNING TensorRT.trtexec [TensorRT v110100] [b1] # killed',
      '&&&& RUNNING TensorRT.trtexec [TensorRT v110100] [b1] # parent',
      "&&&& TASK_BEGIN [iter=0] BuildRoute = '-a=on'",
      '&&&& RUNNING TensorRT.trtexec [TensorRT v110100] [b1] # child',
      '&&&& PASSED TensorRT.trtexec [TensorRT v110100] [b1] # child',
      "&&&& TASK_END [iter=0] BuildRoute = '-a=on'",
      '&&&& PASSED TensorRT.trtexec [TensorRT v110100] [b1] # parent',
    ].join('\n'),
  );
  expect(runs.map(({ commandLine, closingMarker }) => [commandLine, closingMarker])).toEqual([
    ['killed', null],
    ['parent', 'PASSED'],
    ['child', 'PASSED'],
  ]);
  expect(runs[1]?.tensorrtVersion).toEqual({ major: 11, minor: 1, patch: 0 });
});

// Listings of TensorRT's own benchmarking guide: ViT-L, batch 128.
const fp16 = onlyRun(readFileSync(join(GUIDE, 'listing-06-fp16-summary.log')));
const fp8 = onlyRun(readFileSync(join(GUIDE, 'listing-11-fp8-summary.log')));

test('the FP16 listing, to the digit', () => {
  const percentiles = { '90': 52.074, '95': 52.0845, '99': 52.1182 };
  // Without transfers a latency is its GPU compute time.
  const computeMs = { min: 51.5081, max: 52.1182, mean: 51.9474, median: 51.9817, percentiles };
  expect(fp16.measurement).toEqual({
    throughputQps: 19.2498,
    latencyMs: computeMs,
    enqueueMs: {
      min: 0.00384521,
      max: 0.0101318,
      mean: 0.0071022,
      median: 0.00738525,
      percentiles: { '90': 0.0090332, '95': 0.00939941, '99': 0.0101318 },
    },
    h2dMs: null,
    gpuComputeMs: computeMs,
    d2hMs: null,
    hostWalltimeS: 3.11691,
    gpuTotalS: 3.11684,
  });
});

test('what follows from the FP16 listing', () => {
  const derived = derive(fp16, null);
  // 19.2498 qps for 3.11691 s are 59.9999 queries.
  expect(derived).toMatchObject({ queries: 60, gpuBusy: expect.closeTo(0.99998, 5) });
  expect(derived).toMatchObject({ enqueueRatio: expect.closeTo(0.000142, 6), enqueueClass: 'free' });
  // 2463.97 images a second; the guide cuts instead of rounding.
  expect((fp16.measurement?.throughputQps ?? 0) * 128).toBeCloseTo(2463.97, 2);
});

test('the FP8 listing has 106 queries, so that p99 is not the maximum', () => {
  const derived = derive(fp8, null);
  expect([derived.queries, fp8.measurement?.gpuComputeMs.percentiles['99']]).toEqual([106, 28.9761]);
  expect(fp8.measurement?.gpuComputeMs.max).toBe(28.9861);
  expect(fp8.measurement?.enqueueMs?.percentiles['99']).toBe(0.0175781);
  expect([fp8.measurement?.enqueueMs?.max, derived.gpuBusy]).toEqual([0.0180664, expect.closeTo(0.99996, 5)]);
});

test('any list of percentiles is read under its own names', () => {
  const { measurement } = recordedRun('formats/percentiles-odd');
  expect(Object.keys(measurement?.gpuComputeMs.percentiles ?? {})).toEqual(['50', '100', '99.9']);
});

test('transfers are null when they were off', () => {
  const { measurement, options } = recordedRun('formats/no-transfers');
  expect([options.dataTransfers, measurement?.h2dMs]).toEqual([false, null]);
  expect([measurement?.d2hMs, measurement?.latencyMs.median]).toEqual([null, measurement?.gpuComputeMs.median]);
});

test('the report of TensorRT 7 has headings, and no mean of the enqueue times', () => {
  const { measurement } = onlyRun(readFileSync(join(import.meta.dirname, 'lines', 'jetson.txt')));
  const percentiles = { '99': 5.68823 };
  expect(measurement?.latencyMs).toEqual({ min: 4.39917, max: 8.58171, mean: 4.48906, median: 4.44601, percentiles });
  expect(measurement?.enqueueMs).toEqual({ min: 4.32037, max: 8.43929, mean: null, median: 4.39526, percentiles: {} });
});

test('a report that is cut in the middle, and nan and inf, are no measurement', () => {
  const text = readFileSync(join(GUIDE, 'listing-06-fp16-summary.log'), 'utf8');
  const cut = text.slice(0, text.indexOf('Total Host Walltime'));
  const faulty = [text.replace('19.2498 qps', 'inf qps'), text.replaceAll('median = 51.9817', 'median = -nan')];
  expect([cut, ...faulty].map((log) => onlyRun(log).measurement)).toEqual([null, null, null]);
});

const START = '&&&& RUNNING TensorRT.trtexec [TensorRT v100600] [b26] # trtexec --onnx=net.onnx';

test('of a log trtexec is kept, without verbose lines and what other programs print', async () => {
  const lines = [
    'MYCRED=hunter2',
    START,
    '[11/21/2026-02:00:00] [I] === Model Options ===',
    '[11/21/2026-02:00:00] [V] [TRT] Parsing node: /encoder/Conv [Conv]',
    'export TOKEN=abc [11/21/2026-02:00:01] [W] [TRT] No implementation',
    'trtexec: error while loading shared libraries: libnvinfer.so.10: cannot open shared object file',
    '  "user": "alice",',
  ];
  const log = Readable.from([Buffer.from(lines.slice(0, 3).join('\n')), Buffer.from(`\n${lines.slice(3).join('\n')}`)]);
  expect(await ownLines(log, 'stdout')).toEqual({
    texts: [
      START,
      '[11/21/2026-02:00:00] [I] === Model Options ===',
      '[11/21/2026-02:00:01] [W] [TRT] No implementation',
      'trtexec: error while loading shared libraries: libnvinfer.so.10: cannot open shared object file',
    ],
    others: 3,
  });
});

function read(...chunks: readonly string[]): { messages: LogMessage[]; lines: number } {
  const messages: LogMessage[] = [];
  const reader = new LogLineReader('stdout', (message) => messages.push(message));
  for (const chunk of chunks) reader.push(Buffer.from(chunk));
  reader.end();
  return { messages, lines: reader.lineCount };
}

const P = '[11/21/2026-07:33:53]';

test('a prefix gives severity, time and whether the library spoke', () => {
  const known = { stream: 'stdout', time: '11/21/2026-07:33:53' };
  expect(read(`${P} [I] [TRT] Loaded engine size: 14 MiB\n${P} [W] * Throughput\n`).messages).toEqual([
    { ...known, line: 1, severity: 'I', fromLibrary: true, text: 'Loaded engine size: 14 MiB' },
    { ...known, line: 2, severity: 'W', fromLibrary: false, text: '* Throughput' },
  ]);
});

test('a message that another thread glued to a verbose line is found', () => {
  const { messages } = read(`${P} [V] [TRT] half of a line${P} [W] * Throughput may be\n`);
  expect(messages.map(({ severity, text }) => [severity, text])).toEqual([['W', '* Throughput may be']]);
});

test('CRLF, colours and a lost trailing space change nothing', () => {
  const { messages } = read(`\u001b[32m${P} [I] a b\u001b[0m\r\n${P} [I]\r\n`);
  expect(messages.map(({ severity, text }) => severity + text)).toEqual(['Ia b', 'I']);
});

test.each([1, 2, 7, 30, 64])('chunks of %i bytes give the same messages', (size) => {
  const text = `${P} [I] één ☃ line\n${P} [V] skipped\n&&&& PASSED x\nlast without newline`;
  const bytes = Buffer.from(text);
  const messages: LogMessage[] = [];
  const reader = new LogLineReader('stdout', (message) => messages.push(message));
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
  reader.end();
  expect(messages).toEqual(read(text).messages);
  expect(messages.map((message) => message.text)).toEqual(['één ☃ line', '&&&& PASSED x', 'last without newline']);
});

test('an endless line is cut and the next one is whole', () => {
  const long = 'x'.repeat(3 << 20);
  const { messages } = read(long.slice(0, 1 << 20), long.slice(1 << 20), `\n${P} [I] next\n`);
  expect([messages[0]?.text.length, messages[1]?.text]).toEqual([1 << 20, 'next']);
});

const WHOLE = readFixture('formats/default-run/stdout.log.br').toString();
const OTHER = readFixture('formats/no-transfers/stdout.log.br').toString();
/** Ended by a signal: it has no closing marker. */
const ENDLESS = readFixture('failures/endless-timeout/stdout.log.br').toString();

/** Line by line in turn, as two processes write to one file. */
function interleaved(a: string, b: string): string {
  const [first, second] = [a.split('\n'), b.split('\n')];
  const length = Math.max(first.length, second.length);
  return Array.from({ length }, (_, index) => [first[index] ?? [], second[index] ?? []])
    .flat(2)
    .join('\n');
}

const withoutMarkers = (log: string): string => log.replace(/^&&&& .*\n?/gm, '');

describe('what else stands in a log', () => {
  test('what a script said before its run is no run, and no cause of it', () => {
    const run = onlyRun('error: could not open file x\nls: cannot access y: No space left on device\n' + WHOLE);
    expect([run.failures, run.measurement]).toEqual([[], onlyRun(WHOLE).measurement]);
  });

  test('a trtexec that could not even start is a run before the next one', () => {
    const loader = 'trtexec: error while loading shared libraries: libnvinfer.so.10: cannot open shared object file\n';
    const { runs } = parseTrtexecLog(loader + WHOLE);
    expect(runs.map(({ failures }) => failures[0]?.reason)).toEqual(['libraryMissing', undefined]);
  });

  test('times before each line, markers too, change nothing', () => {
    const stamped = (WHOLE + OTHER).replace(/^(?=.)/gm, '2026-11-21T07:33:53.0000000Z ');
    const readAll = (log: string) =>
      parseTrtexecLog(log).runs.map((run) => [run.commandLine, run.closingMarker, run.measurement]);
    expect(readAll(stamped)).toEqual(readAll(WHOLE + OTHER));
  });

  test('a script that quotes a marker does not end the run', () => {
    expect(onlyRun(ENDLESS + `+ grep -q '&&&& PASSED TensorRT.trtexec' out.log\n`).closingMarker).toBeNull();
  });

  test('a last line without a line feed is read before stderr', () => {
    const { runs } = parseTrtexecLog(WHOLE.slice(0, WHOLE.indexOf('\n')), '[11/21/2026-07:33:53] [E] no\n');
    expect(runs.map(({ errors }) => errors.length)).toEqual([1]);
  });
});

test.each([
  ['of different commands', OTHER],
  ['of the same command', WHOLE],
  ['of which one was killed', ENDLESS],
])('two processes that wrote to one log at once: %s: no number is trusted', (_, second) => {
  const { runs } = parseTrtexecLog(interleaved(second, WHOLE));
  expect([runs.length, runs.map(({ measurement }) => measurement)]).toEqual([2, [null, null]]);
  expect(runs.map((run) => judged(run).kind)).not.toContain('measured');
  expect(runs.map(({ overlaps }) => overlaps)).toContain(true);
});

test('without markers, each banner begins a run with options of its own', () => {
  const { runs } = parseTrtexecLog(withoutMarkers(WHOLE) + withoutMarkers(OTHER));
  const expected = [WHOLE, OTHER].map((log, place) => {
    const { measurement } = onlyRun(log);
    return { options: { dataTransfers: place === 0, percentiles: [90, 95, 99] }, measurement };
  });
  expect(runs).toMatchObject(expected);
});

// Made from the banner of 8.0 in NVIDIA's sampleOptions.cpp.
test('8.0 says elsewhere that inference is skipped, and how much is profiled', () => {
  const lines = ['=== Build Options ===', 'NVTX verbosity: 2', ' ', '=== Inference Options ==='];
  const log = [...lines, 'Skip inference: Enabled'].map((line) => `[05/24/2021-13:24:18] [I] ${line}`);
  expect(onlyRun(log.join('\n')).options).toMatchObject({ skipInference: true, profilingVerbosity: 2 });
});

test('a percentile that is no number is left out', () => {
  const log = WHOLE.replace(/(Latency: .*percentile\(99%\) = )[\d.]+/, '$1inf');
  expect(Object.keys(onlyRun(log).measurement?.latencyMs.percentiles ?? {})).toEqual(['90', '95']);
});
