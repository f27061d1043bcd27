import { join } from 'node:path';

import { expect, test } from 'vitest';

import { discoverRuns } from '../../../src/artefacts/read/discover.ts';
import { readRunFolder } from '../../../src/artefacts/read/read-run.ts';
import { boundBy } from '../../../src/trtexec/fitness/host-bound.ts';
import { findFlags } from '../../../src/trtexec/fitness/find-flags.ts';
import type { RunFlag } from '../../../src/records/run-flag.ts';
import { factsOf, syntheticLog } from '../../support/fitness-facts.ts';
import { FIXTURES } from '../../support/recordings.ts';

/** The names of the runs in a folder by what they are bound by. */
async function boundsIn(folder: string, isWanted: (name: string) => boolean = () => true) {
  const sources = await discoverRuns(folder);
  const runs = (await Promise.all(sources.map(({ path }) => readRunFolder(path)))).flat();
  const named = runs.map(({ derived, path }) => ({ by: String(derived.boundBy), name: path.slice(folder.length + 1) }));
  const wanted = named.filter(({ name }) => isWanted(name)).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return Object.fromEntries(
    [...Map.groupBy(wanted, ({ by }) => by)].map(([by, own]) => [by, own.map(({ name }) => name)]),
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
  expect(bounds['paced']).toEqual(['sleep-idle']);
  expect(bounds['h2d'] ?? bounds['d2h']).toBeUndefined();
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
  expect(bound(syntheticLog({ throughputQps: 600 }))).toBe('host');
  expect(bound(copies(1.4, 0.1, 700, TRANSFERS))).toBe('h2d');
  expect(bound(copies(0.1, 1.4, 700, TRANSFERS))).toBe('d2h');
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
  expect(findFlags(factsOf(profiled))).toContainEqual({
    id: 'profilingOn',
    effect: 'barred',
    value: null,
    evidence: "it was timed with trtexec's profiler attached (--exportProfile)",
  });
});

test('launches that wait for copies: the copies', () => {
  expect(bound(withTimes(copies(1.4, 0.1, 700, TRANSFERS), 'Enqueue Time', 0.9))).toBe('h2d');
});

test('pauses that were asked for: paced, unless the GPU is busy all the same', () => {
  const pausing = (throughputQps: number): string =>
    syntheticLog({ throughputQps, options: ['Inference Streams: 1', 'Idle time: 2ms'] });
  expect(bound(pausing(300))).toBe('paced');
  expect(bound(pausing(990))).toBe('compute');
});
