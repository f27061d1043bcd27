import { expect, test } from 'vitest';

import { judgePairs, judgeSameEngine, type MeasuredPairs, runSigma } from '../../../src/judge/gate/judge-pairs.ts';
import { normals } from '../../support/simulated-store.ts';

function measured(newest: readonly number[], lastGood: readonly number[], stated: Partial<MeasuredPairs> = {}) {
  return {
    pairs: newest.map((value, place) => ({ newest: value, lastGood: lastGood[place] ?? Number.NaN })),
    sigma: 0.003,
    before: 1,
    now: 1.02,
    isUnsteady: false,
    isSameSources: false,
    minChangePercent: 0,
    ...stated,
  };
}

// Change and agreeing pairs: numpy.median of the differences of logs, and how many exceed .35 of it.
const NEWEST = [1.0234, 1.021, 1.0183, 1.0162, 1.0142];
const LAST_GOOD = [1.0001, 0.9976, 0.9974, 0.9993, 0.9998];
const NEAR = [1.0011, 1.0108, 1.0019, 1.0136, 1.0098];
const NEAR_BEFORE = [0.9986, 1.004, 1.0001, 1.0021, 1.0003];
const NOISY = [1.0312, 1.0309, 1.0108, 1.0138, 1.0235];
const NOISY_BEFORE = [0.9979, 0.9774, 1.0205, 0.9785, 0.9794];
const SAME = [0.9975, 1.0011, 1.0036, 0.9995, 0.9992];
const SAME_BEFORE = [1.0003, 0.9993, 1.0002, 0.9977, 1.0009];
const EIGHT = [1.022, 1.0077, 1.0194, 1.0208, 1.0229, 1.0158, 1.0132, 1.0152];
const EIGHT_BEFORE = [1.0027, 0.9957, 0.9962, 1.0057, 0.9961, 0.9955, 0.9995, 1.001];

test.each([
  ['2 %', measured(NEWEST, LAST_GOOD), 2.0954, 5, 'confirmed'],
  ['within the noise of a median pair', measured(NEAR, NEAR_BEFORE), 0.6773, 4, 'cleared'],
  ['noisy, one pair the other way', measured(NOISY, NOISY_BEFORE, { sigma: 0.01 }), 3.6076, 4, 'confirmed'],
  ['no change', measured(SAME, SAME_BEFORE, { sigma: 0.002 }), 0.1801, 3, 'cleared'],
  ['eight pairs', measured(EIGHT, EIGHT_BEFORE, { sigma: 0.005, isUnsteady: true }), 1.7129, 8, 'confirmed'],
] as const)('%s, as by the prototype', (_, pairs, changePercent, agreeing, outcome) => {
  const found = judgePairs(pairs);
  expect(found.changePercent).toBeCloseTo(changePercent, 3);
  expect(found).toMatchObject({ count: pairs.pairs.length, agreeing, outcome });
});

test('one pair that does not agree is allowed, two are not', () => {
  const one = [1.0234, 1.021, 1.0183, 1.0162, 0.99];
  expect(judgePairs(measured(one, LAST_GOOD))).toMatchObject({ agreeing: 4, outcome: 'confirmed' });
  const two = [1.0234, 1.021, 1.0183, 0.99, 0.99];
  expect(judgePairs(measured(two, LAST_GOOD))).toMatchObject({ agreeing: 3, outcome: 'cleared' });
});

test('the machine: the last good engine is nearer to the value of the sweep than to its own level', () => {
  const slow = NEWEST.map((value) => 1.04 * value);
  const same = { before: 1, now: 1.06 };
  expect(judgePairs(measured(slow, slow, same)).outcome).toBe('machine');
  expect(judgePairs(measured(LAST_GOOD, LAST_GOOD, same)).outcome).toBe('cleared');
  // Both: the engine is slower, and the machine as well.
  const slower = slow.map((value) => 1.03 * value);
  expect(judgePairs(measured(slower, slow, same)).outcome).toBe('confirmed');
});

test('a throughput that fell is confirmed, one that rose in the pairs is not', () => {
  const fell = { before: 1000, now: 980 };
  const qps = (values: readonly number[]) => values.map((value) => 1000 / value);
  const slower = judgePairs(measured(qps(NEWEST), qps(LAST_GOOD), fell));
  expect(slower).toMatchObject({ agreeing: 5, outcome: 'confirmed' });
  expect(slower.changePercent).toBeCloseTo(-2.0524, 3);
  expect(judgePairs(measured(qps(LAST_GOOD), qps(NEWEST), fell))).toMatchObject({ agreeing: 0, outcome: 'machine' });
});

test('another build of the same sources is luck; too few pairs compare nothing', () => {
  expect(judgePairs(measured(NEWEST, LAST_GOOD, { isSameSources: true })).outcome).toBe('buildLuck');
  expect(judgePairs(measured(NEWEST.slice(1), LAST_GOOD.slice(1))).outcome).toBe('notComparable');
  expect(judgePairs(measured(NEWEST, LAST_GOOD, { isUnsteady: true })).outcome).toBe('notComparable');
});

test('the smallest change worth reporting is half a percent, or what the user says', () => {
  const slightly = LAST_GOOD.map((value) => 1.0045 * value);
  expect(judgePairs(measured(slightly, LAST_GOOD, { sigma: 1e-4 })).outcome).toBe('cleared');
  const more = LAST_GOOD.map((value) => 1.0055 * value);
  expect(judgePairs(measured(more, LAST_GOOD, { sigma: 1e-4 })).outcome).toBe('confirmed');
  expect(judgePairs(measured(NEWEST, LAST_GOOD, { minChangePercent: 3 })).outcome).toBe('cleared');
});

test('the same engine on both sides: more runs tell the machine from chance', () => {
  const suspect = { before: 2, now: 2.1 };
  expect(judgeSameEngine([2.09, 2.08, 2.01], suspect)).toMatchObject({ outcome: 'machine', count: 0 });
  expect(judgeSameEngine([2.01, 2.08, 2.0], suspect).outcome).toBe('cleared');
  expect(judgeSameEngine([], suspect).outcome).toBe('notComparable');
});

test('the noise of a run is that within sweeps, whatever the level, and the distance of two states', () => {
  const normal = normals(3);
  const sweeps = (sigma: number, runs: number, count = 40) =>
    Array.from({ length: count }, (_, sweep) =>
      Array.from({ length: runs }, () => (1 + 0.05 * (sweep % 2)) * Math.exp(sigma * normal())),
    );
  const disturbed = sweeps(0.002, 5).map(([first = 1, ...others], place) => [
    place % 2 ? first : 1.2 * first,
    ...others,
  ]);
  const states = sweeps(0.001, 4).map(([a = 1, b = 1, ...others]) => [1.06 * a, b, ...others]);
  const calm = sweeps(0.002, 5);
  expect(runSigma(calm, [])).toBeCloseTo(0.002, 3);
  expect(runSigma(disturbed, [])).toBeLessThan(0.003);
  expect(runSigma(states, [])).toBeGreaterThan(0.03);
  // Too few runs of its own: those of the others say how one run scatters.
  expect(runSigma(sweeps(0.02, 1), calm)).toBeCloseTo(0.002, 3);
  expect(runSigma([], [])).toBe(0.01);
});

// GPU compute times in ms of an H100 (docs/real-gpus.md): two sweeps of ten cells, two runs each; in the second the
// ResNet has three more layers. Then five pairs of its cell of batch 4.
const YOUNG = [
  [0.168707, 0.168503, 0.17185, 0.172509],
  [0.305452, 0.305107, 0.31138, 0.310941],
  [0.174483, 0.174356, 0.179234, 0.178061],
  [0.189211, 0.189124, 0.192238, 0.192972],
  [0.208159, 0.208289, 0.211131, 0.211409],
  [0.38899, 0.387493, 0.388431, 0.387871],
  [0.605326, 0.603687, 0.60416, 0.603434],
  [0.401497, 0.40302, 0.402466, 0.402252],
  [0.419452, 0.41975, 0.421625, 0.420437],
  [0.43499, 0.434547, 0.435375, 0.43484],
].map((runs) => [runs.slice(0, 2), runs.slice(2)]);

// The pairs of its cell of batch 1.
const NEWEST_1 = [0.17221, 0.172163, 0.172242, 0.172396, 0.172032];
const LAST_GOOD_1 = [0.168794, 0.16856, 0.168658, 0.168639, 0.168676];

test('in the second sweep of all cells their runs together say how one run scatters: real pairs of +2 % are confirmed', () => {
  const sigma = runSigma(YOUNG[3] ?? [], YOUNG.flat());
  // The .75 quantile of the twenty differences over sqrt(2) x 1.1503, by Python.
  expect(sigma).toBeCloseTo(0.00188, 4);
  const pairs = measured([0.19225, 0.19265, 0.19268, 0.19251, 0.19253], [0.18928, 0.1887, 0.1886, 0.18873, 0.18879]);
  const expected = { outcome: 'confirmed', agreeing: 5, count: 5 };
  expect(judgePairs({ ...pairs, before: 0.189168, now: 0.192605, sigma })).toMatchObject(expected);
  // Too few runs in all: with those of the pairs, and without pairs what is assumed.
  const few = YOUNG[0] ?? [];
  expect(runSigma(few, [])).toBe(0.01);
  const ofPairs = runSigma(few, [...few, NEWEST_1, LAST_GOOD_1]);
  // The median of the 22 differences over sqrt(2) x .6745, by numpy.
  expect(ofPairs).toBeCloseTo(0.0008215, 6);
  const own = { ...measured(NEWEST_1, LAST_GOOD_1), before: 0.168605, now: 0.17218 };
  expect(judgePairs({ ...own, sigma: 0.01 })).toMatchObject({ outcome: 'cleared', agreeing: 5 });
  expect(judgePairs({ ...own, sigma: ofPairs })).toMatchObject({ outcome: 'confirmed', agreeing: 5 });
});
