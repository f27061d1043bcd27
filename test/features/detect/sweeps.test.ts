import { expect, test } from 'vitest';

import { bench } from '../../support/bench.ts';

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
