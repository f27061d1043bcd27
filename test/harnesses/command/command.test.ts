import { describe, expect, test } from 'vitest';

import type { HarnessResult } from '../../../src/records/harness.ts';
import { commandDriver } from '../../../src/harnesses/command.ts';
import { placeWith, plannedCell, readingOf as readBy, refusedBy } from '../../support/driver-place.ts';

const METRICS = { encode: { unit: 'ms', better: 'lower' } };

function readingOf(settings: object, stdout: string | null, others: Record<string, string> = {}) {
  const stated = { kind: 'command', run: ['x'], metrics: METRICS, ...settings };
  return readBy(commandDriver, stated, { 'stdout.log': stdout, ...others });
}

function valuesOf(result: HarnessResult): Record<string, number> | string {
  return result.kind === 'faulty'
    ? result.problem
    : Object.fromEntries(result.reading.values.map(({ metric, value }) => [metric, value]));
}

describe('what it reads', () => {
  test('one JSON object as the whole output, however it is laid out', () => {
    expect(valuesOf(readingOf({}, '{\n "encode": 1.5\n}\n'))).toEqual({ 'encode:lower:ms': 1.5 });
    // Else the last line that is one.
    const printed = 'warming up\n{"encode": 9}\nstill busy\n{"encode": 2.5, "x": 1}\nbye\n';
    expect(valuesOf(readingOf({}, printed))).toEqual({ 'encode:lower:ms': 2.5 });
  });

  test('the median of JSON lines, with the number of runs', () => {
    const result = readingOf({ output: 'jsonl' }, '{"encode":1}\n{"encode":9}\n{"encode":2}\n');
    expect(valuesOf(result)).toEqual({ 'encode:lower:ms': 2 });
    expect(result.kind === 'read' ? result.reading.method.timedRuns : null).toBe(3);
  });

  test('a number inside, by its path, and in a file of the run folder', () => {
    const metrics = { p99: { unit: 'ms', better: 'lower', path: 'stats.p99' } };
    expect(valuesOf(readingOf({ metrics }, '{"stats": {"p99": 4}}'))).toEqual({ 'p99:lower:ms': 4 });
    // Only the first metric, which verdicts use, must be above 0.
    const drops = { ...metrics, drops: { unit: 'frames', better: 'lower' } };
    expect(valuesOf(readingOf({ metrics: drops }, '{"stats": {"p99": 4}, "drops": 0}'))).toMatchObject({
      'drops:lower:frames': 0,
    });
    const inFile = readingOf({ file: 'report.json' }, 'noise', { 'report.json': '{"encode": 7}' });
    expect(valuesOf(inFile)).toEqual({ 'encode:lower:ms': 7 });
  });

  test('numbers that a pattern picks out of text, with their separators', () => {
    const metrics = { rate: { unit: 'tok/s', better: 'higher', pattern: String.raw`^Throughput: ([\d,.]+) tok/s` } };
    expect(valuesOf(readingOf({ metrics }, 'hello\nThroughput: 12,345.5 tok/s\n'))).toEqual({
      'rate:higher:tok/s': 12_345.5,
    });
  });

  test('how it was measured, as far as it is stated', () => {
    const result = readingOf({ timer: 'wall', inFlight: 4, warmUpRuns: 3, version: '1.2' }, '{"encode":1}');
    expect(result.kind === 'read' ? result.reading.method : null).toEqual({
      harness: 'command',
      harnessVersion: '1.2',
      timer: 'wall',
      inFlight: 4,
      percentileRule: 'unknown',
      transfers: null,
      warmUpRuns: 3,
      timedRuns: null,
    });
  });
});

test.each([
  ['nothing', {}, '', 'standard output is empty: a number was expected'],
  ['no file', { file: 'r.json' }, '{}', 'r.json is empty: a number was expected'],
  ['no object', {}, 'done\n', 'stdout.log: it contains no JSON object'],
  ['a list', {}, '[1]', 'stdout.log: it contains no JSON object'],
  ['a missing field', {}, '{"encod": 1}', 'stdout.log: field encode is missing'],
  [
    'a name of the object itself',
    { metrics: { constructor: { unit: 'x', better: 'lower' } } },
    '{}',
    'stdout.log: field constructor is missing',
  ],
  ['a text', {}, '{"encode": "1 ms"}', 'stdout.log: encode is not a number above 0: "1 ms"'],
  [
    'a line without it',
    { output: 'jsonl' },
    '{"encode":1}\n{}\n',
    'stdout.log: field encode is missing in result 2 of 2',
  ],
  [
    'a result of 0',
    { output: 'jsonl' },
    '{"encode":1}\n{"encode":0}\n',
    'stdout.log: encode is not a number above 0 in result 2 of 2: 0',
  ],
  ['a line that is none', { output: 'jsonl' }, '{"encode":1}\noops\n', 'stdout.log: line 2 is not a JSON object'],
  [
    'a pattern that finds nothing',
    { metrics: { encode: { unit: 'ms', better: 'lower', pattern: 'took (\\d+) ms' } } },
    'took ages',
    'stdout.log: pattern of encode finds no number',
  ],
  [
    'a number of JSON that is none of ours',
    {},
    '{"encode": 1e999}',
    'stdout.log: encode is not a number above 0: Infinity',
  ],
])('what it refuses: %s', (_, settings, stdout, problem) => {
  expect(valuesOf(readingOf(settings, stdout))).toBe(problem);
});

describe('how it is started', () => {
  const STATED = { kind: 'command', metrics: METRICS };
  const cellOf = (settings: object) => plannedCell(commandDriver, { ...STATED, ...settings }, placeWith({}));

  test('a name from PATH, a path from the folder of the file; numbers become texts', () => {
    expect(cellOf({ run: ['python3', 'a.py', 8] })).toMatchObject({ argv: ['python3', 'a.py', '8'], cwd: '/m/.' });
    const { argv, cwd, env } = cellOf({ run: ['./a.sh'], cwd: 'x', env: { A: 1, B: null } });
    expect([argv, cwd, env]).toEqual([['/m/a.sh'], '/m/x', { A: '1', B: null }]);
  });

  test('the first metric is what the cell is judged by', () => {
    const metrics = { b: { unit: 'tok/s', better: 'higher' }, a: { unit: 'ms', better: 'lower' } };
    const harness = { name: 'command', timer: 'cudaEvent', metric: 'b:higher:tok/s' };
    expect(cellOf({ run: ['x'], metrics, timer: 'cudaEvent' }).harness).toEqual(harness);
  });

  test.each([
    ['(', /Unterminated group|Invalid regular/],
    ['x', /one group around the number is needed, this has 0/],
    ['(a)(b)', /this has 2/],
    [undefined, /output: text needs one for each metric/],
  ])('the pattern %s is refused', (pattern, problem) => {
    const metrics = { a: { unit: 'ms', better: 'lower', pattern } };
    const refused = refusedBy(commandDriver, { ...STATED, run: ['x'], output: 'text', metrics }, placeWith({}));
    expect(refused).toEqual({ path: 'metrics.a.pattern', problem: expect.stringMatching(problem) });
  });
});
