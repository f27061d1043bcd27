import { expect, test } from 'vitest';

import type { QueryTimes } from '../../../src/trtexec/run-facts.ts';
import { printable } from '../../../src/text/printable.ts';
import { chromeTrace, queryTracks, roundingMs, type Trace } from '../../../src/features/export/trace.ts';

function times(columns: Readonly<Record<string, readonly number[]>>): QueryTimes {
  const entries = Object.entries(columns).map(([name, values]) => [name, Float64Array.from(values)]);
  return { count: Object.values(columns)[0]?.length ?? 0, columns: Object.fromEntries(entries) };
}

/** Each track as `NAME: START-END #QUERY, …`. */
function spans(of: QueryTimes): string[] {
  return queryTracks(of).tracks.map(({ name, slices }) => {
    const texts = [...slices()].map(({ endMs, facts, startMs }) => `${startMs}-${endMs} #${facts['query']}`);
    return `${name}: ${texts.join(', ')}`;
  });
}

const STAMPED = {
  startEnqMs: [1, 3],
  endEnqMs: [1.25, 3.5],
  startH2dMs: [0, 2],
  endH2dMs: [0.5, 2.5],
  startComputeMs: [1, 3],
  endComputeMs: [1.5, 3.5],
  startD2hMs: [1.5, 3.5],
  endD2hMs: [1.5, 3.5],
  h2dMs: [0.5, 0.5],
  computeMs: [0.4375, 0.5],
  d2hMs: [0, 0],
  latencyMs: [1, 1],
};
const STREAMS = { startComputeMs: [0, 5, 1, 10], endComputeMs: [10, 6, 4, 11], computeMs: [10, 1, 3, 1] };
const ROUNDED = { startComputeMs: [12_345.6, 12_346.4], endComputeMs: [12_346.4, 12_347.2], computeMs: [0.875, 0.75] };
const WITHOUT_STAMPS = { h2dMs: [1, 1], computeMs: [2, 3], d2hMs: [1, 1], latencyMs: [4, 5] };

test.each([
  [
    'each part lies where its stamp says, as long as trtexec measured it: gaps stay',
    STAMPED,
    ['enqueue (host): 1-1.25 #0, 3-3.5 #1', 'H2D copy: 0-0.5 #0, 2-2.5 #1', 'GPU compute: 1-1.4375 #0, 3-3.5 #1'],
  ],
  [
    'queries of several streams overlap: they go to further tracks, in the order in which they began',
    STREAMS,
    ['GPU compute: 0-10 #0, 10-11 #3', 'GPU compute (2): 1-4 #2, 5-6 #1'],
  ],
  [
    'what rounded stamps and exact durations disagree in is no overlap',
    ROUNDED,
    ['GPU compute: 12345.6-12346.4 #0, 12346.4-12347.15 #1'],
  ],
  [
    'without stamps queries are laid one behind the other',
    WITHOUT_STAMPS,
    ['H2D copy: 0-1 #0, 4-5 #1', 'GPU compute: 1-3 #0, 5-8 #1', 'D2H copy: 3-4 #0, 8-9 #1'],
  ],
])('%s', (_, columns: Readonly<Record<string, readonly number[]>>, expected) => {
  expect(spans(times(columns))).toEqual(expected);
  expect(queryTracks(times(columns)).hasStamps).toBe(columns !== WITHOUT_STAMPS);
});

test('a stamp of six digits may be half a step off at both ends', () => {
  expect(roundingMs(12_345.6)).toBeCloseTo(0.2, 12);
  expect(roundingMs(0.5)).toBeCloseTo(0.000_02, 12);
});

test('200,000 queries come in small pieces', () => {
  const count = 200_000;
  const start = Array.from({ length: count }, (_, query) => 200 + query * 0.5);
  const computeMs = start.map(() => 0.25);
  const large = times({ startComputeMs: start, endComputeMs: start.map((from) => from + 0.25), computeMs });
  const trace: Trace = { facts: {}, groups: [{ name: 'queries', tracks: queryTracks(large).tracks }] };
  const pieces = [...chromeTrace(trace)];
  expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(80_000);
  const { traceEvents } = JSON.parse(pieces.join(''));
  expect(traceEvents).toHaveLength(count + 4);
  expect(traceEvents.at(-1)).toMatchObject({ ph: 'X', ts: 100_199_500, dur: 250, args: { query: count - 1 } });
});

test('names with anything in them stay text', () => {
  const name = 'a"b\\\n\u001b[31m\u202e\u2028😀\ud800';
  const slices = [{ name, startMs: 0, endMs: 0.0015, facts: { onnx: name, meanMs: 0.0015, query: 3 } }];
  const track = { name, count: 1, slices: () => slices };
  const json = [...chromeTrace({ facts: { cell: name }, groups: [{ name, tracks: [track] }] })].join('');
  for (const line of json.split('\n')) expect(printable(line)).toBe(line);
  const event = JSON.parse(json).traceEvents.at(-1);
  expect([event.name, event.args.onnx, event.dur]).toEqual([name, name, 1.5]);
});
