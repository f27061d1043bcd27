import { join, sep } from 'node:path';

import { describe, expect, test } from 'vitest';

import { discoverRuns } from '../../../src/artefacts/read/discover.ts';
import { readRunFolder } from '../../../src/artefacts/read/read-run.ts';
import type { RunFlag } from '../../../src/records/run-flag.ts';
import { findFlags } from '../../../src/trtexec/fitness/find-flags.ts';
import { derive } from '../../../src/trtexec/log/derived.ts';
import { ROOT } from '../../support/bench.ts';
import { factsOf, NO_TELEMETRY, queriesOf, syntheticLog } from '../../support/fitness-facts.ts';
import { H100 } from '../../support/h100.ts';
import { FIXTURES } from '../../support/recordings.ts';

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
  const sources = await discoverRuns(folder);
  const runs = (await Promise.all(sources.map(({ path }) => readRunFolder(path)))).flat();
  expect(runs.length).toBeGreaterThanOrEqual(atLeast);
  const name = (path: string): string => path.split(sep).slice(-2).join('/');
  expect(runs.map(({ path, flags }) => [name(path), sharing(flags)])).toEqual(
    runs.map(({ path }) => [name(path), expected]),
  );
});

test('a second process is named with what it did', async () => {
  const [run] = await readRunFolder(join(H100, 'contended-true-4910a8cc'));
  expect(run?.outcome.kind).toBe('measured');
  const [flag] = run?.flags ?? [];
  expect(flag?.value).toBeCloseTo(9.96, 2);
  expect(flag?.evidence).toBe(
    '0.8 % of the queries took more than 1.5 times the undisturbed 0.203 ms, mean 0.224 ms; another process on the GPU: python3 (6038)',
  );
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
  const derived = { ...derive(log, null), gpuBusy: 0.97 };
  const facts = { derived, times: null, telemetry: null, machine: {} };
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
  ])('%s', (_, found, expected) => {
    expect(found).toBe(expected);
  });
});
