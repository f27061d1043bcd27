import { describe, expect, test } from 'vitest';

import { packedHistories } from '../../../benchmarks/detection/labelled.ts';
import { nightlyValues } from '../../../benchmarks/detection/ours.ts';
import { Random } from '../../../benchmarks/detection/random.ts';
import { departureOf, isBeyond } from '../../../src/judge/history/departures.ts';
import { judgeLatest, judgeSweep } from '../../../src/judge/history/judge-latest.ts';
import { type Look, lookAt } from '../../../src/judge/history/looks.ts';
import { replaySweeps } from '../../../src/judge/history/replay-sweeps.ts';
import { ALERTING, EARLY } from '../../../src/judge/history/settings.ts';
import { plainHistory } from '../../support/plain-history.ts';

const NOTHING_KNOWN = { reported: [], wrongBefore: 0 };

function noise(seed: number, sweeps: number, sigma = 0.003): number[] {
  const random = new Random(seed);
  return Array.from({ length: sweeps }, () => Math.exp(sigma * random.normal()));
}

/** Slower by a share from a sweep on. */
function stepped(seed: number, sweeps: number, at: number, rel: number): number[] {
  return noise(seed, sweeps).map((value, sweep) => (sweep < at ? value : value * (1 + rel)));
}

const delaysOf = (rel: number): number[] =>
  Array.from({ length: 60 }, (_, seed) => {
    const { reports } = replaySweeps(plainHistory(stepped(seed, 75, 60, rel)));
    return (reports[0]?.reportedOn ?? Number.NaN) - 60 + 1;
  });

describe('calm cells', () => {
  test('a step is reported by its third sweep, and a larger one no later', () => {
    const middle = (delays: readonly number[]): number => delays.toSorted((a, b) => a - b)[30] ?? Number.NaN;
    for (const rel of [0.03, 0.05, 0.2, 1]) {
      const delays = delaysOf(rel);
      expect(delays.filter((delay) => delay <= 3).length).toBeGreaterThanOrEqual(54);
      expect(middle(delays)).toBe(3);
    }
  });

  test('two sweeps suffice when 80 are known', () => {
    const delays = Array.from({ length: 60 }, (_, seed) => {
      const { reports } = replaySweeps(plainHistory(stepped(seed, 105, 100, 0.05)));
      return (reports[0]?.reportedOn ?? Number.NaN) - 100 + 1;
    });
    expect(delays.filter((delay) => delay === 2).length).toBeGreaterThan(30);
  });

  test('what is reported early counts as seen while it is young, also when the level before is back', () => {
    const values = stepped(7, 63, 60, 0.05);
    expect(judgeLatest(plainHistory(values), NOTHING_KNOWN).news.map(({ night }) => night)).toEqual([60]);
    const known = { reported: [60], wrongBefore: 0 };
    const later = judgeLatest(plainHistory([...values, 1, 1.001]), known);
    expect(later.news).toEqual([]);
    expect(later.changes.map(({ night }) => night)).toEqual([60]);
  });
});

test('a change is news however old it is when somebody looks first', () => {
  for (let age = 3; age <= 14; age += 1) {
    const { news } = judgeLatest(plainHistory(stepped(4, 40 + age, 40, 0.05)), { reported: [], wrongBefore: 0 });
    expect([age, news.map(({ night }) => night)]).toEqual([age, [40]]);
  }
});

describe('restless cells', () => {
  test('after a report that was wrong a change waits for its fifteenth sweep', () => {
    const values = stepped(3, 63, 60, 0.05);
    expect(judgeLatest(plainHistory(values), { reported: [], wrongBefore: 1 }).news).toEqual([]);
    const fourteen = stepped(3, 74, 60, 0.05);
    expect(judgeLatest(plainHistory(fourteen), { reported: [], wrongBefore: 1 }).news).toEqual([]);
    const fifteen = stepped(3, 75, 60, 0.05);
    expect(judgeLatest(plainHistory(fifteen), { reported: [], wrongBefore: 1 }).news).toHaveLength(1);
  });

  test('where the cell stayed for some sweeps before, it has to stay for eight', () => {
    const visited = stepped(5, 80, 60, 0.05).map((value, sweep) => (sweep >= 30 && sweep < 35 ? value * 1.05 : value));
    const known = { reported: [30, 35], wrongBefore: 0 };
    const newsAfter = (sweeps: number) => judgeLatest(plainHistory(visited.slice(0, sweeps)), known).news;
    expect(newsAfter(67)).toEqual([]);
    expect(newsAfter(68).map(({ night }) => night)).toEqual([60]);
  });

  test('a share of slow sweeps that grows from 20 to 80 % is reported, in its usual level; one that stays is not', () => {
    const found = (after: number): number =>
      Array.from({ length: 40 }, (_, seed) => {
        const random = new Random(seed + 50);
        const values = noise(seed, 120).map((value, sweep) =>
          random.chance(sweep < 60 ? 0.2 : after) ? value * 1.04 : value,
        );
        return replaySweeps(plainHistory(values)).reports.some(
          ({ change }) => Math.abs(change.night - 60) <= 3 && change.shift > 0.03,
        );
      }).filter(Boolean).length;
    expect(found(0.8)).toBeGreaterThanOrEqual(28);
    expect(found(0.2)).toBe(0);
  });
});

describe('clocks and builds', () => {
  const random = new Random(8);
  const slow = Array.from({ length: 120 }, (_, sweep) => (sweep >= 40 && sweep < 46) || (sweep >= 80 && sweep < 92));
  const values = slow.map((isSlow) => (isSlow ? 1.04 : 1) * Math.exp(0.002 * random.normal()));

  test('a clock that switches seldom explains what it did', () => {
    const clock = slow.map((isSlow) => 1980 / (isSlow ? 1.04 : 1));
    expect(replaySweeps(plainHistory(values)).reports.length).toBeGreaterThan(0);
    const { reports, suspicions } = replaySweeps({ ...plainHistory(values), clock });
    // Three switches teach that it does: the first visit is over by then.
    expect(reports.filter(({ reportedOn }) => reportedOn >= 80)).toEqual([]);
    expect(suspicions.filter(({ suspectedOn }) => suspectedOn >= 82)).toEqual([]);
  });

  test('a level that begins with a new build of the same sources is build luck; of new sources it is not', () => {
    const slower = stepped(9, 70, 60, 0.05);
    const builds = slower.map((_, sweep) => (sweep < 60 ? 'a' : 'b'));
    const luckOf = (sources: readonly (string | null)[]) =>
      replaySweeps({ ...plainHistory(slower), builds, sources }).reports.map(({ change }) => change.isBuildLuck);
    expect(luckOf(slower.map(() => 's'))).toEqual([true]);
    expect(luckOf(slower.map((_, sweep) => (sweep < 60 ? 's' : 't')))).toEqual([false]);
    expect(luckOf(slower.map(() => null))).toEqual([false]);
  });
});

describe('a regression that is fixed soon leaves a record', () => {
  test.each([1, 2])('after %i sweeps: suspected, then cleared', (length) => {
    const values = noise(4, 70).map((value, sweep) => (sweep >= 60 && sweep < 60 + length ? value * 1.05 : value));
    const { suspicions } = replaySweeps(plainHistory(values));
    expect(suspicions.map(({ suspectedOn, first, state }) => [suspectedOn, first.probability, state])).toEqual([
      [60, 0.35, 'cleared'],
    ]);
  });

  test('one that stays is confirmed', () => {
    const { suspicions } = replaySweeps(plainHistory(stepped(4, 70, 60, 0.05)));
    expect(suspicions.map(({ state }) => state)).toEqual(['confirmed']);
  });
});

describe('what is skipped changes nothing', () => {
  const histories = packedHistories('synthetic-dev').map(nightlyValues);

  test('a constant history: the same as by the whole way', () => {
    const constant = plainHistory(Array.from({ length: 60 }, () => 512));
    expect(judgeLatest(constant, NOTHING_KNOWN)).toEqual(judgeSweep(constant, 60, NOTHING_KNOWN, new Map()));
  });

  test('a quiet history needs one look; with all looks at hand the answer is the same', () => {
    let looked = 0;
    for (const history of histories) {
      const sweeps = history.values.length;
      const few = new Map<number, Look>();
      const all = new Map(Array.from({ length: 6 }, (_, back) => [sweeps - back, lookAt(history, sweeps - back)]));
      expect(judgeSweep(history, sweeps, NOTHING_KNOWN, few)).toEqual(judgeSweep(history, sweeps, NOTHING_KNOWN, all));
      looked += few.size === 1 ? 1 : 0;
    }
    expect(looked).toBeGreaterThan(50);
  });

  test('no sweep that an early rule would report lies among those before it', () => {
    let early = 0;
    for (const history of histories.filter((_, place) => place >= 64 && place % 4 === 0)) {
      const sweeps = history.values.length;
      for (let count = ALERTING.firstNight + 3; count <= sweeps; count += 1) {
        const newest = lookAt(history, count);
        const departure = departureOf(newest, lookAt(history, count - 3), 3);
        if (departure === null || departure.visits > 0 || departure.deviations < EARLY.clearDeviations) continue;
        early += 1;
        expect(isBeyond(newest, 3, EARLY.levelSweeps)).toBe(true);
      }
    }
    expect(early).toBeGreaterThan(10);
  });
});
