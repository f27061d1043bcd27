import { array, assert, double, infiniteStream, property } from 'fast-check';
import { describe, expect, test } from 'vitest';

import type { RunFlag } from '../../../src/records/run-flag.ts';
import { findFlags } from '../../../src/trtexec/fitness/find-flags.ts';
import { factsOf, queriesOf, syntheticLog } from '../../support/fitness-facts.ts';

function flagsOf(computeMs: readonly number[], gapsMs: readonly number[] = []): RunFlag[] {
  return findFlags(factsOf(syntheticLog(), queriesOf(computeMs, gapsMs)));
}

const named = (flags: readonly RunFlag[]): string[] => flags.map(({ id, effect }) => `${id} ${effect}`);

/** Between 1 and 1.02, never the same twice. */
const wobble = (query: number): number => 1 + 0.02 * ((query * 0.618_033_988_749_895) % 1);
const series = (count: number, of: (query: number) => number): number[] =>
  Array.from({ length: count }, (_, query) => of(query) * wobble(query));

test('a quiet run has no flag', () => {
  expect(flagsOf(series(500, () => 1))).toEqual([]);
});

test('AT-21: 500 queries a second of 1 ms each, enqueued in 1.9 ms', () => {
  const options = ['Inference Streams: 1', 'CUDA Graph: Disabled'];
  const facts = factsOf(syntheticLog({ throughputQps: 500, enqueueMs: 1.9, options }));
  expect(facts.derived).toMatchObject({ gpuBusy: 0.5, enqueueClass: 'bound', idleGapMs: 1 });
  expect(findFlags(facts)).toEqual([
    {
      id: 'hostBound',
      effect: 'explained',
      value: 0.5,
      evidence: 'GPU idle 50 % of the time, enqueue takes 1.90 times the GPU time',
    },
  ]);
});

describe('contended', () => {
  test('every tenth query waits for a time slice', () => {
    const flags = flagsOf(series(500, (query) => (query % 10 === 0 ? 8 : 1)));
    expect(named(flags)).toEqual(['contended excluded']);
    expect(flags[0]?.value).toBeCloseTo(71.3, 1);
  });

  test('one very slow query is none', () => {
    expect(flagsOf(series(500, (query) => (query === 77 ? 400 : 1)))).toEqual([]);
  });
});

test('a run that gets 15 % slower to its end is drifting, one that gets 3 % slower is not', () => {
  const flags = flagsOf(series(400, (query) => 1 + (0.15 * query) / 400));
  expect(named(flags)).toEqual(['drifting widened']);
  expect(flags[0]?.value).toBeCloseTo(11.1, 0);
  expect(flags[0]?.evidence).toMatch(/^the last quarter of the queries is 11\.\d % slower/);
  expect(flagsOf(series(400, (query) => 1 + (0.03 * query) / 400))).toEqual([]);
});

describe('two levels that come and go', () => {
  const levels = (slow: number) => series(400, (query) => (query % 20 < slow ? 1.2 : 1));

  test('their median is of one level, if fewer than 40 % or more than 60 % of the queries are of it', () => {
    const [flag, ...others] = flagsOf(levels(7));
    expect(others).toEqual([]);
    expect(flag).toMatchObject({ id: 'bimodal', effect: 'explained', value: expect.closeTo(20, 0) });
    expect(flag?.evidence).toMatch(/^65 % of queries at 1\.01 ms, the others at 1\.21 ms$/);
    expect(named(flagsOf(levels(11)))).toEqual(['bimodal widened']);
  });

  test('a mean of the samples lies between them: there is no center', () => {
    for (const slow of [7, 11, 15]) {
      const { derived } = factsOf(syntheticLog(), queriesOf(levels(slow)));
      expect(derived).toMatchObject({ gpuComputeCentreMs: null, latencyCentreMs: null });
    }
    const { derived } = factsOf(syntheticLog(), queriesOf(levels(0)));
    expect(derived.gpuComputeCentreMs).toBeCloseTo(1.007, 3);
  });
});

describe('a timer with steps', () => {
  const onGrid = (step: number): number[] => series(600, () => 1).map((ms) => Math.round(ms / step) * step);

  test('told from 0.2 % of the median on', () => {
    const flags = flagsOf(onGrid(0.004));
    expect(named(flags)).toEqual(['coarseTimer widened']);
    expect(flags[0]?.value).toBeCloseTo(0.396, 2);
    expect(flags[0]?.evidence).toBe("the timer's step of 4 µs is 0.40 % of the median");
    expect(flagsOf(onGrid(0.001))).toEqual([]);
  });

  test('by the length of the run where the queries are not known: float32 at 17 minutes', () => {
    const long = syntheticLog().replace('Walltime: 1 s', 'Walltime: 600 s');
    const [flag] = findFlags(factsOf(long.replace(/Total GPU Compute Time: .* s/, 'Total GPU Compute Time: 599 s')));
    // 2 ** 19 ms to 2 ** 20 ms: a step of 2 ** -4 ms.
    expect(flag).toMatchObject({ id: 'coarseTimer', value: 6.25 });
  });
});

test.each([
  ['a few long stalls are a host without CPUs', (at: number) => (at % 25 === 0 ? 20 : 0.003), ['hostBound widened']],
  ['the same gap after every query belongs to the cell', () => 0.8, []],
])('%s', (_, gapMs, expected) => {
  const quiet = series(500, () => 1);
  const gaps = quiet.map((_ms, query) => gapMs(query));
  const times = queriesOf(quiet, gaps);
  expect(named(findFlags(factsOf(syntheticLog({ throughputQps: 550 }), times)))).toEqual(expected);
});

describe('of any series', () => {
  const times = array(double({ min: 0.5, max: 20, noNaN: true }), { minLength: 30, maxLength: 400 });

  test('the order of the queries says nothing of who shared the GPU', () => {
    assert(
      property(times, infiniteStream(double({ min: 0, max: 1, noNaN: true })), (ms, keys) => {
        const shuffled = ms
          .map((value) => ({ value, key: keys.next().value ?? 0 }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ value }) => value);
        const contended = (values: readonly number[]): unknown =>
          flagsOf(values)
            .filter(({ id }) => id === 'contended')
            .map(({ effect, value }) => [effect, value?.toFixed(6)]);
        expect(contended(shuffled)).toEqual(contended(ms));
      }),
    );
  });
});
