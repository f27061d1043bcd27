import { describe, expect, test } from 'vitest';

import { clockLevelMhz, clockOffLevel, systematicErrorOf, leftOutFor } from '../../src/judge/run-trust.ts';
import { compareCells } from '../../src/judge/compare/compare-cells.ts';
import { flagReasons, sideOf } from '../../src/judge/compare/assemble-sides.ts';
import type { RunFlag } from '../../src/records/outcome.ts';
import { NO_VALUES } from '../support/no-values.ts';

const flag = (id: RunFlag['id'], effect: RunFlag['effect'], value: number | null = null): RunFlag => ({
  id,
  effect,
  value,
  evidence: `evidence of ${id}`,
});

const STARVED = flag('hostBound', 'widened', 0.5);

describe('which runs count', () => {
  test('what is excluded counts for no time, and still for the engine', () => {
    const flags = [flag('powerLimited', 'explained'), flag('contended', 'excluded')];
    expect([leftOutFor(flags, 'gpuComputeMs')?.id, leftOutFor(flags, 'engineMib')]).toEqual(['contended', null]);
  });

  test('neither clock nor throttling change memory, and another process only that of the whole GPU', () => {
    const flags = [flag('clockOffLevel', 'excluded'), flag('contended', 'excluded')];
    expect([leftOutFor(flags, 'hostMemoryMib'), leftOutFor(flags, 'memoryMib')?.id]).toEqual([null, 'contended']);
    expect(leftOutFor([flag('capture', 'barred')], 'hostMemoryMib')?.id).toBe('capture');
  });

  test('what another process on the GPU did to the times of a run is not known', () => {
    for (const effect of ['explained', 'widened'] as const) {
      const shared = flag('contended', effect, 4.2);
      expect(
        (['gpuComputeMs', 'p99Ms', 'throughputQps'] as const).map((metric) => leftOutFor([shared], metric)),
      ).toEqual([shared, shared, shared]);
      expect(leftOutFor([shared], 'contextMib')).toBeNull();
    }
  });
});

describe('the clock of a cell', () => {
  const run = (smClockMhz: number | null, flags: readonly RunFlag[] = []) => ({ smClockMhz, flags });

  test('its level is a median of at least three', () => {
    expect([clockLevelMhz([1980, null, 1965]), clockLevelMhz([1980, 1650, null, 1965])]).toEqual([null, 1965]);
  });

  test('a run far off it is left out, with both clocks', () => {
    const evidence = "SM clock 1650 MHz, this cell's level is 1980 MHz";
    const value = expect.closeTo(-16.67, 1);
    expect(clockOffLevel(run(1650), 1980)).toEqual({ id: 'clockOffLevel', effect: 'excluded', value, evidence });
    expect(clockOffLevel(run(1935), 1980)).toBeNull();
    expect([clockOffLevel(run(null), 1980), clockOffLevel(run(1650), null)]).toEqual([null, null]);
  });

  test('but not under the power cap, where clocks wander', () => {
    expect(clockOffLevel(run(1650, [flag('powerLimited', 'explained')]), 1980)).toBeNull();
  });
});

test('a band of 1 % is an error of 1 % over the root of 12, of the widest band', () => {
  const flags = [flag('coarseTimer', 'widened', 1), flag('bimodal', 'widened', 0.4)];
  expect(systematicErrorOf(flags, 'gpuComputeMs')).toBeCloseTo(0.00287, 5);
  expect(systematicErrorOf(flags, 'engineMib')).toBe(0);
  // Its value is how busy the GPU was, not a width.
  expect(systematicErrorOf([STARVED], 'gpuComputeMs')).toBe(0);
});

describe('one side', () => {
  const run = (flags: readonly RunFlag[], smClockMhz: number | null = null, reason: 'contended' | null = null) => {
    const outcome = reason === null ? ({ kind: 'measured' } as const) : ({ kind: 'unfit', reason } as const);
    const ids = { runId: 'r', sweepId: 's', cellKey: 'c', environmentId: '', buildId: null, engineKey: null };
    const facts = { repeat: 1, startedAt: null, wallS: null, queries: null, commit: null, dirty: null };
    const made = { ...ids, ...facts, boundBy: null, derivedQps: null, values: NO_VALUES, centres: {} };
    return { ...made, outcome: { ...outcome, evidence: [] }, role: 'timed' as const, flags, smClockMhz };
  };

  test('runs that do not count are named with their evidence, unfit ones too', () => {
    const contended = run([flag('contended', 'excluded', 118)], null, 'contended');
    const [slow, good] = [run([], 1650), run([], 1980)];
    const { notes, runs } = sideOf('a', [contended, contended, slow, good], 'gpuComputeMs', () => 1, 1980);
    expect(runs).toEqual([good]);
    expect(notes).toEqual([
      'a: 2 of 4 runs left out, contended: evidence of contended',
      "a: 1 of 4 runs left out, clock off its level: SM clock 1650 MHz, this cell's level is 1980 MHz",
    ]);
  });

  test('explanations are named where one side has them, doubts always', () => {
    const capped = run([flag('powerLimited', 'explained')]);
    const coarse = run([flag('coarseTimer', 'widened', 0.3)]);
    const plain = run([]);
    expect(flagReasons([plain, plain], [capped, plain])).toEqual(['power-limited: 1 of 2 runs of head']);
    expect(flagReasons([capped], [capped])).toEqual([]);
    expect(flagReasons([coarse], [coarse])).toEqual([
      'coarse timer, trusted less: 1 of 1 runs of base, 1 of 1 runs of head',
    ]);
    expect(flagReasons([coarse], [plain])).toEqual(['coarse timer, trusted less: 1 of 1 runs of base']);
  });
});

test('doubt widens the interval and is not repeated away', () => {
  const sides = {
    cellKey: 'a',
    base: [1, 1.0001, 0.9999, 1.0001],
    head: [1.012, 1.0121, 1.0119, 1.0121],
    betterIs: 'lower' as const,
  };
  const others = Array.from({ length: 6 }, (_, index) => ({ ...sides, cellKey: `other ${index}`, head: sides.base }));
  const [sure] = compareCells([sides, ...others]).cells;
  expect(sure?.verdict).toBe('slower');
  const [unsure] = compareCells([{ ...sides, systematicError: 0.01 }, ...others]).cells;
  expect(unsure).toMatchObject({ verdict: 'unclear', moreRunsNeeded: null });
  expect([unsure?.mdePercent, unsure?.reasons[0]]).toEqual([expect.closeTo(4.71, 1), 'notByRuns']);
  const [none] = compareCells([{ ...sides, systematicError: 0 }, ...others]).cells;
  expect(none).toEqual(sure);
});
