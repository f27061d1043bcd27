import { join, sep } from 'node:path';

import { describe, expect, test } from 'vitest';

import { discoverRuns } from '../../../src/artefacts/read/discover.ts';
import { readRunFolder } from '../../../src/artefacts/read/read-run.ts';
import type { RunFlag } from '../../../src/records/outcome.ts';
import { findFlags } from '../../../src/trtexec/fitness/find-flags.ts';
import { boundBy } from '../../../src/trtexec/fitness/host-bound.ts';
import { derive } from '../../../src/trtexec/log/derived.ts';
import { ROOT } from '../../support/bench.ts';
import { factsOf, NO_TELEMETRY, queriesOf, syntheticLog } from '../../support/fitness-facts.ts';
import { H100 } from '../../support/h100.ts';
import { FIXTURES } from '../../support/recordings.ts';

const runsIn = async (folder: string) =>
  (await Promise.all((await discoverRuns(folder)).map(({ path }) => readRunFolder(path)))).flat();

const named = ({ id, effect }: RunFlag): string => `${id} ${effect}`;

test('no alarm on any undisturbed recording; launches that take longer than the network are said where they were', async () => {
  const found: string[] = [];
  for (const folder of [join(ROOT, 'recordings'), join(FIXTURES, 'level0')]) {
    const runs = await runsIn(folder);
    expect(runs.length).toBeGreaterThan(0);
    for (const { path, flags } of runs) {
      for (const flag of flags) found.push(`${path.split(sep).slice(-2).join('/')}: ${named(flag)}: ${flag.evidence}`);
    }
  }
  expect(found.toSorted()).toEqual([
    'h100/resnet.fp8.level3.b1.graph0_2: hostBound explained: GPU idle 5.4 % of the time, enqueue takes 0.92 times the GPU time',
    'h100/vit.fp16.level3.b1.graph0_1: hostBound explained: GPU idle 5.2 % of the time, enqueue takes 1.00 times the GPU time',
    'h100/vit.fp16.level3.b1.graph0_2: hostBound explained: GPU idle 5.5 % of the time, enqueue takes 1.00 times the GPU time',
    'h200/vit.fp8.level1.b1.graph0_2: bimodal explained: 64 % of queries at 0.938 ms, the others at 0.724 ms',
    'h200/vit.fp8.level1.b1.graph0_2: drifting widened: the last quarter of the queries is 24.0 % faster than the first',
    'h200/vit.fp8.level1.b1.graph0_2: hostJitter explained: 1.8 % of the queries took more than 1.5 times the undisturbed 0.717 ms, and were enqueued slowly',
  ]);
});

test('of the formats only what is so: tiny networks are bound by their launches and show the timer', async () => {
  const runs = await runsIn(join(FIXTURES, 'formats'));
  const names = new Set(runs.flatMap(({ flags }) => flags.map(named)));
  expect(names).toEqual(new Set(['capture barred', 'hostBound explained', 'coarseTimer widened']));
  const bound = runs.filter(({ flags }) => flags.some(({ id }) => id === 'hostBound'));
  // trtexec says so too.
  for (const { log } of bound) expect(log.hints.map(({ id }) => id)).toContain('enqueue_bound');
  expect(runs.find(({ path }) => path.endsWith('sleep-idle'))?.flags).toEqual([]);
});

const SETS = join(ROOT, 'recordings');

/** What is known to have gone on beside the runs of a folder, and what must therefore be said of each. */
const RECORDINGS = [
  ['another process, turn by turn', join(FIXTURES, 'gpu-contended'), 12, 'contended excluded'],
  ['another process, 7 % of the time', join(H100, 'contended-true-4910a8cc'), 1, 'contended widened'],
  ...['8c97190d', '8eb0586c', 'b5eed25b'].map(
    (id) => ['a host that hiccups', join(H100, `contended-false-${id}`), 1, 'hostJitter explained'] as const,
  ),
  ['a host without CPUs', join(FIXTURES, 'cpu-contended'), 4, null],
  ['launches as long as the network', join(SETS, 'h200', 'vit.fp8.level1.b1.graph0_2'), 1, 'hostJitter explained'],
  ...['pairs', 'nights'].map((set) => ['a quiet night', join(FIXTURES, set), 1, null] as const),
] as const;

const SHARING: readonly RunFlag['id'][] = ['contended', 'hostJitter'];

const sharing = (flags: readonly RunFlag[]): string | null =>
  flags
    .filter(({ id }) => SHARING.includes(id))
    .map(({ id, effect }) => `${id} ${effect}`)
    .join(', ') || null;

test.each(RECORDINGS)('%s: %s', async (_, folder, atLeast, expected) => {
  const runs = await runsIn(folder);
  expect(runs.length).toBeGreaterThanOrEqual(atLeast);
  const said = runs.map(({ path, flags }) => [path, sharing(flags)]);
  expect(said).toEqual(runs.map(({ path }) => [path, expected]));
});

test('a second process is named with what it did', async () => {
  const [run] = await readRunFolder(join(H100, 'contended-true-4910a8cc'));
  expect(run?.outcome.kind).toBe('measured');
  const [flag] = run?.flags ?? [];
  expect(flag?.value).toBeCloseTo(9.96, 2);
  const slow = '0.8 % of the queries took more than 1.5 times the undisturbed 0.203 ms, mean 0.224 ms';
  expect(flag?.evidence).toBe(`${slow}; another process on the GPU: python3 (6038)`);
});

test('without the single queries their summary tells the host from another process', async () => {
  const [run] = await readRunFolder(join(H100, 'contended-false-8eb0586c'));
  const measurement = run?.log.measurement;
  if (run === undefined || measurement === null || measurement === undefined || measurement.enqueueMs === null) {
    throw new Error('the recording has a summary');
  }
  // As on a host that hiccups more: both tails are as long as the undisturbed time.
  const { gpuComputeMs, enqueueMs } = measurement;
  const log = {
    ...run.log,
    measurement: {
      ...measurement,
      gpuComputeMs: { ...gpuComputeMs, mean: 2 * gpuComputeMs.min },
      enqueueMs: { ...enqueueMs, mean: enqueueMs.median + gpuComputeMs.min },
    },
  };
  // The host keeps the GPU busy otherwise, or it would be bound by it.
  const facts = { derived: { ...derive(log, null), gpuBusy: 0.97 }, times: null, telemetry: null, machine: {} };
  expect(sharing(findFlags({ ...facts, log }))).toBe('hostJitter explained');
});

describe('limits', () => {
  const NO_GRAPH = ['Inference Streams: 1', 'CUDA Graph: Disabled'];
  const GRAPH = ['Inference Streams: 1', 'CUDA Graph: Enabled'];
  const other = { ...NO_TELEMETRY, otherProcesses: [{ pid: 71, name: 'python3', memoryMib: 9 }] };

  /** Every so many queries one is slow, and its enqueue too when the host is to blame. Made up. */
  function run(every: number, slowEnqueue: boolean, options: readonly string[], seen = false, throughputQps = 990) {
    const slow = (query: number): boolean => query % every === 0;
    const times = queriesOf(Array.from({ length: 2000 }, (_, query) => (slow(query) ? 10 : 1)));
    const startEnqMs = Float64Array.from(times.columns.startComputeMs ?? []);
    const endEnqMs = startEnqMs.map((start, query) => start + (slowEnqueue && slow(query) ? 9.8 : 0.8));
    const columns = { ...times.columns, startEnqMs, endEnqMs };
    const more = seen ? { telemetry: other } : {};
    return sharing(findFlags(factsOf(syntheticLog({ options, throughputQps }), { ...times, columns }, more)));
  }

  test.each([
    ['slow enqueues without a graph are the host', run(20, true, NO_GRAPH), 'hostJitter explained'],
    ['the same queries enqueued as ever are not', run(20, false, NO_GRAPH), 'contended widened'],
    ['with a graph a query is one launch', run(20, true, GRAPH), 'contended widened'],
    // Two processes that take turns leave no GPU idle.
    ['a GPU that idles half of it waits for the host', run(20, false, NO_GRAPH, false, 500), 'hostJitter explained'],
    ['unless somebody was seen on it', run(20, false, NO_GRAPH, true, 500), 'contended widened'],
    ['or its queries are one launch each', run(20, false, GRAPH, false, 500), 'contended widened'],
    ['a process that was seen may hold up enqueues', run(20, true, NO_GRAPH, true), 'contended widened'],
    ['one in 200 is little where nobody was seen', run(200, false, NO_GRAPH), null],
    ['and enough where somebody was', run(200, false, NO_GRAPH, true), 'contended widened'],
    ['one in 1,000 is not', run(1000, false, NO_GRAPH, true), 'contended explained'],
  ])('%s', (_, found, expected) => expect(found).toBe(expected));
});

/** The names of the runs in a folder by what they are bound by. */
async function boundsIn(folder: string) {
  const byBound = Map.groupBy(await runsIn(folder), ({ derived }) => String(derived.boundBy));
  return Object.fromEntries(
    [...byBound].map(([by, own]) => [by, own.map(({ path }) => path.slice(folder.length + 1))]),
  );
}

test.each([
  ['without CPUs, with and without a CUDA graph', join(FIXTURES, 'cpu-contended'), { host: 4 }],
  ['with another process on the GPU', join(FIXTURES, 'gpu-contended'), { contended: 12 }],
  ['20 s at the power cap', join(FIXTURES, 'sustained'), { power: 1 }],
])('%s', async (_, folder, expected) => {
  const bounds = Object.entries(await boundsIn(folder)).map(([by, names]) => [by, names.length]);
  expect(Object.fromEntries(bounds)).toEqual(expected);
});

test('each kind of output: tiny networks wait for the host, those without transfers never for copies', async () => {
  const bounds = await boundsIn(join(FIXTURES, 'formats'));
  expect([bounds['paced'], bounds['h2d'] ?? bounds['d2h']]).toEqual([['sleep-idle'], undefined]);
  expect(bounds['host']).toEqual(expect.arrayContaining(['enqueue-bound', 'layer-info-names-only', 'weak-fp16']));
  // The copies of `expose-dma` wait for its compute on purpose: the longer of them.
  const compute = ['enqueue-bound-graph', 'expose-dma', 'no-transfers', 'no-transfers-graph-spin'];
  expect(bounds['compute']).toEqual(expect.arrayContaining(compute));
  // Of several streams the GPU times overlap.
  expect(bounds['null']).toEqual(expect.arrayContaining(['h2d-bound', 'streams-4']));
});

const flagOf = (id: RunFlag['id'], effect: RunFlag['effect']) => [{ id, effect }];

const bound = (log: string, flags: Parameters<typeof boundBy>[1] = []) => boundBy(factsOf(log), flags);

/** A log with another line of times, all of them the same. */
const withTimes = (log: string, name: string, ms: number): string =>
  log.replace(new RegExp(`(?<=${name}: )min.*`), `min = ${ms} ms, max = ${ms} ms, mean = ${ms} ms, median = ${ms} ms`);

const copies = (h2dMs: number, d2hMs: number, throughputQps: number, options?: readonly string[]): string => {
  const log = syntheticLog({ throughputQps, ...(options === undefined ? {} : { options }) });
  return withTimes(withTimes(log, 'H2D Latency', h2dMs), 'D2H Latency', d2hMs);
};

const TRANSFERS = ['Inference Streams: 1', 'Data transfers: Enabled'];

test('made up: each bottleneck', () => {
  expect(bound(syntheticLog())).toBe('compute');
  expect(bound(syntheticLog(), flagOf('powerLimited', 'explained'))).toBe('power');
  expect(bound(syntheticLog({ enqueueMs: 0.95 }))).toBe('host');
  expect(bound(syntheticLog({ enqueueMs: 0.95 }), flagOf('powerLimited', 'explained'))).toBe('host');
  expect([600, 940, 960].map((throughputQps) => bound(syntheticLog({ throughputQps })))).toEqual([
    'host',
    'host',
    'compute',
  ]);
  expect([bound(copies(1.4, 0.1, 700, TRANSFERS)), bound(copies(0.1, 1.4, 700, TRANSFERS))]).toEqual(['h2d', 'd2h']);
  expect(bound(copies(1.02, 0.1, 975, TRANSFERS))).toBe('h2d');
  expect(bound(syntheticLog(), flagOf('contended', 'widened'))).toBe('contended');
  expect(bound(syntheticLog(), flagOf('contended', 'explained'))).toBe('compute');
});

test('copies that take long, but not all of the time: the host leaves the GPU idle', () => {
  expect(bound(copies(1.4, 0.1, 300, TRANSFERS))).toBe('host');
});

test("trtexec's profiler makes launches wait for the GPU: TensorRT 7 with --exportProfile", () => {
  const log = syntheticLog({ enqueueMs: 1.01 });
  const profiled = log.replace(
    /^.*=== Inference Options ===/m,
    '[02/21/2021-22:46:03] [I] === Reporting Options ===\n[02/21/2021-22:46:03] [I] Profile: Disabled\n[02/21/2021-22:46:03] [I] Export profile to JSON file: profile_googlenet_None_int8_10_1.json\n[02/21/2021-22:46:03] [I] \n$&',
  );
  expect([bound(log), bound(profiled)]).toEqual(['host', 'compute']);
  expect(findFlags(factsOf(log)).map(({ id }) => id)).not.toContain('profilingOn');
  const evidence = "it was timed with trtexec's profiler attached (--exportProfile)";
  expect(findFlags(factsOf(profiled))).toContainEqual({ id: 'profilingOn', effect: 'barred', value: null, evidence });
});

test('launches that wait for copies: the copies', () => {
  expect(bound(withTimes(copies(1.4, 0.1, 700, TRANSFERS), 'Enqueue Time', 0.9))).toBe('h2d');
});

test('pauses that were asked for: paced, unless the GPU is busy all the same', () => {
  const pausing = (throughputQps: number): string =>
    syntheticLog({ throughputQps, options: ['Inference Streams: 1', 'Idle time: 2ms'] });
  expect([bound(pausing(300)), bound(pausing(990))]).toEqual(['paced', 'compute']);
});
