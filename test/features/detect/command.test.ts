import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { packedText } from '../../../benchmarks/detection/labelled.ts';
import { bench, temporaryFolder, refusal } from '../../support/bench.ts';

const LABELS = ['changes', 'scenario', 'sigma', 'rel', 'run_sigma', 'modal'];

const linesOf = (name: string, count: number): string[] => packedText(name).split('\n').slice(0, count);

function withoutLabels(line: string): string {
  const entries = Object.entries(JSON.parse(line)).filter(([name]) => !LABELS.includes(name));
  return JSON.stringify(Object.fromEntries(entries));
}

/** Labels that lie. */
function mislabelled(line: string): string {
  const lies = LABELS.map((name) => [name, name === 'changes' ? [{ index: 3 }] : 9]);
  return JSON.stringify({ ...JSON.parse(line), ...Object.fromEntries(lies) });
}

async function detected(text: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await bench(['detect', '-', ...args], { input: text });
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

test.each([
  ['synthetic-dev', 40, []],
  ['ab-dev', 60, ['--ab']],
] as const)('labels are never read: %s', async (name, count, args) => {
  const lines = linesOf(name, count);
  const answer = await detected(lines.join('\n'), ...args);
  expect([answer.trim().split('\n').length, answer]).toEqual([count, expect.stringMatching(/"slower"/)]);
  expect(await detected(lines.map(withoutLabels).join('\n'), ...args)).toBe(answer);
  expect(await detected(lines.map(mislabelled).join('\n'), ...args)).toBe(answer);
});

/** A history of 60 nights that becomes 10 % slower on night 40. */
const VALUES = Array.from({ length: 60 }, (_, night) => (night < 40 ? 2 : 2.2) + (((night * 7) % 5) - 2) / 200);

describe('the same history as CSV, as JSON lines and as an array', () => {
  test('gives the same places', async () => {
    const folder = temporaryFolder();
    const texts = {
      'nights.csv': ['night,latency', ...VALUES.map((value, night) => `${night},${value}`)].join('\n'),
      'nights.jsonl': JSON.stringify({ id: 'nights', values: VALUES }),
      'nights.json': JSON.stringify(VALUES),
    };
    const answers: string[] = [];
    for (const [name, text] of Object.entries(texts)) {
      writeFileSync(join(folder, name), text);
      const { code, stdout } = await bench(['detect', join(folder, name)]);
      expect(code).toBe(0);
      answers.push(stdout);
    }
    expect(new Set(answers).size).toBe(1);
    const { id, alarms, nightly } = JSON.parse(answers[0] ?? '');
    expect({ id, alarms }).toMatchObject({ id: 'nights', alarms: [{ index: 40, direction: 'slower' }] });
    expect(alarms[0].changePercent).toBeCloseTo(10, 0);
    expect(nightly).toMatchObject([{ index: 40, direction: 'slower' }]);
    expect(nightly[0].night).toBeLessThanOrEqual(43);
  });

  test('nights without a value keep their place', async () => {
    const gaps = VALUES.map((value, night) => (night % 7 === 3 ? null : value));
    const csv = ['latency', ...gaps.map((value) => value ?? 'NaN')].join('\n');
    expect(JSON.parse(await detected(csv)).alarms).toMatchObject([{ index: 40 }]);
    expect(JSON.parse(await detected(JSON.stringify(gaps))).alarms).toMatchObject([{ index: 40 }]);
  });

  test('more is better: the other direction', async () => {
    expect(JSON.parse(await detected(JSON.stringify(VALUES), '--better', 'higher')).alarms).toMatchObject([
      { index: 40, direction: 'faster' },
    ]);
  });
});

describe('wrong input is one line and exit code 2', () => {
  test.each([
    ['broken JSON', '{"id": "a", "values": [1,', []],
    ['a record without values', '{"id": "a"}', []],
    ['a negative value', '{"id": "a", "values": [1, -2]}', []],
    ['CSV without numbers', 'name,word\na,b\n', []],
    ['a history for --ab', '{"id": "a", "values": [1, 2]}', ['--ab']],
    ['a negative run for --sweeps', '{"id": "a", "sweeps": [[1], [-1]]}', ['--sweeps']],
    ['runs without times', '{"cell": "a", "a": [[]], "b": [[1]]}', ['--ab']],
  ] as const)('%s', async (_, text, args) => {
    expect(await bench(['detect', '-', ...args], { input: text })).toEqual(refusal(/-:1:1: /));
  });

  test('the line is named', async () => {
    const text = '{"id": "a", "values": [1, 2]}\n\n{"id": "b", "values": "c"}\n';
    const { code, stderr } = await bench(['detect', '-'], { input: text });
    expect([code, stderr.includes('-:3:1: values')]).toEqual([2, true]);
  });
});

/** Three runs around a time, a little different in each sweep. */
const runs = (time: number, sweep: number) =>
  [0.999, 1, 1.001].map((factor) => time * factor * (1 + ((sweep * 7) % 5) * 0.0003));

const line = (id: string, time: (sweep: number) => number | null) =>
  JSON.stringify({
    matrix: 'm',
    id,
    precision: 'fp16',
    sweeps: Array.from({ length: 12 }, (_, sweep) => {
      const value = time(sweep);
      return value === null ? null : runs(value, sweep);
    }),
  });

test('what is new is printed for each line, in the order of the file', async () => {
  const input = [
    line('quiet', () => 1),
    line('slower', (sweep) => (sweep >= 8 ? 1.1 : 1)),
    line('absent', (sweep) => (sweep % 3 === 0 ? null : 2)),
  ].join('\n');
  const { code, stdout } = await bench(['detect', '--sweeps', '-'], { input });
  expect(code).toBe(0);
  const [quiet, slower, absent] = stdout
    .trim()
    .split('\n')
    .map((text): unknown => JSON.parse(text));
  expect(quiet).toEqual({ id: 'quiet', alarms: [] });
  expect(slower).toMatchObject({ id: 'slower', alarms: [{ at: 8, direction: 'slower' }] });
  expect(stdout).toMatch(/"changePercent":(?:9\.[89]|10\.[0-2])/);
  expect(absent).toEqual({ id: 'absent', alarms: [] });
});
