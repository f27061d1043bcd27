import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { parseTraceEvents } from '../../../src/trtexec/exports/trace-events.ts';
import { GUIDE } from '../../support/recordings.ts';

const LISTING = readFileSync(join(GUIDE, 'listing-31-trace.json'), 'utf8');

test("the guide's event: 20884.6 us over 100 runs are 0.2088 ms a run", () => {
  const { iterations, layers } = parseTraceEvents(LISTING, 100);
  expect(iterations).toBe(100);
  expect(layers).toHaveLength(1);
  expect(layers[0]).toMatchObject({ name: '_gemm_mha_v2_myl0_90', timeMs: 20.8846, percentage: 100 });
  expect(layers[0]?.averageMs.toFixed(4)).toBe('0.2088');
});

test.each([
  ['a list', (event: string) => `[${event}, {"ph": "M", "name": "thread_name"}]`],
  ['under traceEvents', (event: string) => `{"traceEvents": [${event}]}`],
])('%s', (_name, wrap) => {
  expect(parseTraceEvents(wrap(LISTING), 100).layers).toHaveLength(1);
});

test.each([
  ['[{"ph": "X", "name": "a"}]', 'event 1: dur: '],
  ['[{"ph": "X", "name": "a", "dur": -1}]', 'event 1: dur: '],
  ['[]', 'no complete event ("ph": "X") in it'],
  ['[{"ph": "X"', 'not JSON: is it cut off?'],
  ['{"traceEvents": 1}', 'no list of trace events'],
])('%s is refused', (text, problem) => {
  expect(() => parseTraceEvents(text, 1)).toThrow(problem);
});
