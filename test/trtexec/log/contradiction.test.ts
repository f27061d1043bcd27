import { describe, expect, test } from 'vitest';

import { onlyRun, readFixture } from '../../support/recordings.ts';
import { judged, parseTrtexecLog } from '../../support/whole-files.ts';

const LOG = readFixture('nights/1/resnet_small.fp16.b8.graph1/stdout.log.br').toString('latin1');

const outcomeOf = (log: string) => judged(onlyRun(log));

function replaced(pattern: RegExp, text: string): string {
  expect(LOG).toMatch(pattern);
  return LOG.replace(pattern, text);
}

const SUMMARY = LOG.slice(LOG.indexOf('=== Performance summary'), LOG.indexOf('Total GPU Compute'));

describe('two numbers of one log that cannot both be right', () => {
  test.each([
    ['a minimum above the median', /(Latency: min = )0\./, '$1', 'the min of Latency is 256714 ms'],
    ['a throughput that lost a digit', /Throughput: 4(\d+)/, 'Throughput: $1', 'qps over'],
    ['another wall time', /Walltime: 1\./, 'Walltime: 2.', 'qps over'],
    ['a GPU time above the latency', /(GPU Compute Time: .*?mean = )0\.\d+/, '$17.0', 'of GPU Compute Time is 7 ms'],
    ['a line that was lost', /\] \[I\] D2H Latency/, '] [I] D2 Latency', 'no complete line "D2H'],
    ['a decimal point that was lost', /(H2D Latency: min = 0)\./, '$1', 'no complete line "H2D'],
    ['a total of other queries', /(Total GPU Compute Time: )0/, '$11', 'a total GPU compute time'],
  ])('%s', (_name, pattern, text, words) => {
    const outcome = outcomeOf(replaced(pattern, text));
    expect(outcome).toMatchObject({ kind: 'unfit', reason: 'suspectErrors' });
    expect(outcome.evidence[0]?.text).toContain(words);
  });

  test('a second summary with other numbers; the same once more is none', () => {
    const end = LOG.indexOf('[', LOG.indexOf('Total GPU Compute Time'));
    const block = LOG.slice(LOG.lastIndexOf('[', LOG.indexOf('] [I] === Performance')), end);
    const other = block.replace(/Throughput: \d/, 'Throughput: 1');
    expect(outcomeOf(LOG.slice(0, end) + block + LOG.slice(end)).kind).toBe('measured');
    for (const log of [LOG.slice(0, end) + other + LOG.slice(end), LOG.replace(block, other + block)]) {
      const outcome = outcomeOf(log);
      expect(outcome).toMatchObject({ kind: 'unfit', reason: 'suspectErrors' });
      expect(outcome.evidence[0]?.text).toBe('it printed two different performance summaries');
    }
  });
});

describe('bytes that a log lost', () => {
  const from = LOG.indexOf(SUMMARY);
  const whole = onlyRun(LOG).measurement;

  function wrong(size: number): number[] {
    return Array.from({ length: SUMMARY.length / 9 }, (_, index) => from + 9 * index).filter((at) => {
      const { runs } = parseTrtexecLog(LOG.slice(0, at) + LOG.slice(at + size));
      const [run] = runs;
      if (run === undefined || runs.length > 1 || run.measurement === null || run.contradiction !== null) return false;
      return JSON.stringify(run.measurement) !== JSON.stringify(whole);
    });
  }

  test('40 or 512 of them never leave a measurement with other numbers', () => {
    expect([wrong(40), wrong(512)]).toEqual([[], []]);
  });
});

test('a latency that is not the sum of its parts is told', () => {
  const line = (name: string, ms: number): string =>
    `[I] ${name}: min = ${ms} ms, max = ${ms} ms, mean = ${ms} ms, median = ${ms} ms, percentile(99%) = ${ms} ms\n`;
  const logOf = (latencyMs: number): string =>
    `[I] === Performance summary ===\n[I] Throughput: 500 qps\n${line('Latency', latencyMs)}${line('Enqueue Time', 0.1)}` +
    `${line('H2D Latency', 0.4)}${line('GPU Compute Time', 1.5)}${line('D2H Latency', 0.1)}` +
    '[I] Total Host Walltime: 2 s\n[I] Total GPU Compute Time: 1.5 s\n';
  expect(onlyRun(logOf(2)).contradiction).toBeNull();
  expect(onlyRun(logOf(7)).contradiction).toBe('the max latency of 7 ms is not the sum of its parts (2 ms)');
});
