import { describe, expect, test } from 'vitest';

import type { JudgedCell, PairResult } from '../../../src/judge/gate/evidence.ts';
import type { Candidate, SweepVerdict } from '../../../src/judge/gate/judge-sweep.ts';
import { meanChange } from '../../../src/judge/gate/judged-facts.ts';
import type { GatedMetricId } from '../../../src/records/gated-metric.ts';
import { median } from '../../../src/statistics/order-statistics.ts';
import { alarms, SimulatedGate, type SimulatedSeries } from '../../support/gate-evidence.ts';
import { normals, simulatedCells, sweepOfNight } from '../../support/simulated-store.ts';

/** Three runs a sweep that scatter by .2 %; sweeps by as much. */
function quiet(seed: number, slower: (cell: number, sweep: number) => number): SimulatedSeries['values'] {
  const normal = normals(seed);
  return (cell, sweep) => {
    const level = 2 * slower(cell, sweep) * Math.exp(0.001 * normal());
    return [1, 2, 3].map(() => level * Math.exp(0.002 * normal()));
  };
}

function gateOf(count: number, slower: (cell: number, sweep: number) => number, more: Partial<SimulatedSeries> = {}) {
  return new SimulatedGate({
    cells: simulatedCells(count),
    metrics: ['gpuComputeMs'],
    values: quiet(1, slower),
    ...more,
  });
}

function sayAll(outcome: PairResult['outcome']) {
  return (candidates: readonly Candidate[]): PairResult[] =>
    candidates.flatMap(({ cellKeys, changePercent, metric }) =>
      cellKeys.map((cellKey) => ({ cellKey, metric, outcome, count: 5, agreeing: 5, changePercent })),
    );
}

test('the first sweep has nothing to compare with, the second is compared with it', () => {
  const gate = gateOf(2, (cell, sweep) => (cell === 0 && sweep === 1 ? 1.05 : 1));
  expect(gate.next()).toMatchObject({ judgedBy: 'first', findings: [], cells: [{ reason: 'new' }, { reason: 'new' }] });
  const second = gate.next();
  const findings = [{ state: 'open', lasts: null, cause: null, firstBadSweepId: sweepOfNight(1) }];
  const cells = [{ verdict: 'slower' }, { verdict: 'same' }];
  expect(second).toMatchObject({ judgedBy: 'reference', findings, cells });
  expect(second.findings[0]?.cells[0]?.changePercent).toBeCloseTo(5, 0);
});

test('a second look at the same sweep says the same, and the next sweep that it is open', () => {
  const gate = gateOf(4, (cell, sweep) => (cell === 0 && sweep >= 2 ? 1.05 : 1));
  gate.next();
  gate.next();
  const third = gate.next();
  expect(alarms(third, 2)).toHaveLength(1);
  const plain = ({ candidates, cells, findings, judgedBy }: SweepVerdict) => [candidates, cells, findings, judgedBy];
  expect(plain(gate.again())).toEqual(plain(third));
  const fourth = gate.next();
  expect(fourth.findings).toMatchObject([{ state: 'open', findingId: third.findings[0]?.findingId }]);
  expect([alarms(fourth, 3), plain(gate.again())]).toEqual([[], plain(fourth)]);
});

test('pairs are measured of what is new first, with the engine of the last sweep before each change', () => {
  const gate = gateOf(4, (cell, sweep) => (cell === 0 && sweep >= 3 ? 1.05 : cell === 1 && sweep >= 6 ? 1.02 : 1));
  for (let sweep = 0; sweep < 6; sweep += 1) gate.next();
  const [fresh, known] = simulatedCells(2).toReversed();
  expect(gate.next().candidates).toMatchObject([
    { cellKeys: [fresh?.key], lastGoodSweepId: sweepOfNight(5) },
    { cellKeys: [known?.key], lastGoodSweepId: sweepOfNight(2) },
  ]);
});

test.each([2, 5, 50, 193].flatMap((percent) => [5, 12, 24, 60].map((quietSweeps) => [percent, quietSweeps])))(
  'the same morning, however long it was quiet before: +%i %% after %i sweeps',
  (percent = 0, quietSweeps = 0) => {
    const gate = gateOf(12, (cell, sweep) => (cell === 3 && sweep >= quietSweeps ? 1 + percent / 100 : 1));
    gate.skip(quietSweeps);
    const found = alarms(gate.next(), quietSweeps);
    expect(found).toMatchObject([{ cells: { length: 1 }, firstBadSweepId: sweepOfNight(quietSweeps) }]);
    const { changePercent = 0, ciPercent } = found[0]?.cells[0] ?? {};
    expect(Math.abs(changePercent - percent)).toBeLessThan(0.4 * (1 + percent / 100));
    expect((ciPercent?.[0] ?? 0) < changePercent && changePercent < (ciPercent?.[1] ?? 0)).toBe(true);
  },
);

test.each([10, 12])(
  'a further step in sweep %i on top of an open finding is one with its own size and place',
  (step) => {
    const gate = gateOf(6, (cell, sweep) => (cell !== 0 || sweep < 8 ? 1 : sweep < step ? 1.5 : 1.8));
    const reported = Array.from({ length: step + 4 }, (_, sweep) => alarms(gate.next(), sweep)).flat();
    expect(reported).toMatchObject([{ firstBadSweepId: sweepOfNight(8) }, { firstBadSweepId: sweepOfNight(step) }]);
    expect(reported.map(({ cells }) => Math.round(cells[0]?.changePercent ?? 0))).toEqual([50, 20]);
    expect(gate.findings.map(({ state }) => state)).toEqual(['open', 'open']);
    expect(gate.again().cells[0]).toMatchObject({ verdict: 'slower' });
    expect(gate.again().cells[0]?.changePercent).toBeCloseTo(80, 0);
  },
);

test('a further step in the next sweep: a second look keeps both findings', () => {
  const gate = gateOf(6, (cell, sweep) => (cell > 0 || sweep < 3 ? 1 : sweep < 4 ? 1.05 : 1.3));
  gate.skip(3);
  gate.next();
  const { findings } = gate.next();
  const told = findings.map(({ cells, state }) => `${state} ${Math.round(cells[0]?.changePercent ?? 0)}`);
  expect(told).toEqual(['open 5', 'open 24']);
  expect(gate.again().findings).toEqual(findings);
});

test('half of the cells move again and again: each keeps its own size', () => {
  const factorAt = (sweep: number): number => [1, 1.05, 1.2, 1.3][Math.floor(sweep / 5)] ?? 1;
  const gate = gateOf(4, (cell, sweep) => (cell < 2 ? factorAt(sweep) : 1));
  for (let sweep = 0; sweep < 20; sweep += 1) {
    const changes = gate.next().cells.map(({ changePercent }) => changePercent ?? 0);
    const expected = 100 * (factorAt(sweep) - 1);
    const errors = changes.map((change, cell) => Math.abs(change - (cell < 2 ? expected : 0)));
    expect(Math.max(...errors)).toBeLessThan(0.5);
  }
});

describe('a filtered sweep in which the one measured cell is back', () => {
  const gate = () =>
    gateOf(6, (cell, sweep) => (sweep === 3 || (sweep > 3 && cell > 0) ? 1.09 : 1), {
      isLeftOut: (cell, sweep) => sweep > 3 && cell > 0,
    });
  const slower = { verdict: 'slower' };
  const cells = [{ verdict: 'same' }, slower, slower, slower, slower, slower];

  test('keeps the finding of the others', () => {
    const judged = gate();
    for (let sweep = 0; sweep < 4; sweep += 1) judged.next();
    for (const verdict of [judged.next(), judged.next()])
      expect(verdict).toMatchObject({ findings: [{ state: 'open', cells: { length: 6 } }], cells });
  });

  test('tells the others if nobody judged the sweep before', () => {
    const judged = gate();
    judged.skip(4);
    const verdict = judged.next();
    expect(verdict).toMatchObject({ findings: [{ firstBadSweepId: sweepOfNight(3), cells: { length: 5 } }], cells });
    expect(judged.next().findings).toMatchObject([{ findingId: verdict.findings[0]?.findingId, state: 'open' }]);
  });
});

test.each([1.157, 1.667])('a change of one run against one run is unclear: x %f', (ratio) => {
  const gate = gateOf(1, () => 1, { values: (_, sweep) => [sweep === 0 ? 1 : ratio] });
  gate.next();
  expect(gate.next()).toMatchObject({ findings: [], cells: [{ verdict: 'unclear', runs: 1, referenceSweeps: 1 }] });
});

test('pairs add the cause, or take back what was chance', () => {
  const slower = (cell: number, sweep: number): number => (cell === 0 && sweep >= 4 ? 1.05 : 1);
  const judged = [() => [], ...(['confirmed', 'cleared', 'machine'] as const).map(sayAll)].map((pairs) => {
    const gate = gateOf(4, slower, { pairs });
    gate.skip(4);
    const { cells, findings } = gate.next();
    return [cells[0]?.verdict, ...findings.map(({ state, lasts, cause }) => [state, lasts, cause])];
  });
  expect(judged).toEqual([
    ['slower', ['open', null, null]],
    ['slower', ['open', 'pairs', 'engine']],
    ['same', ['recovered', null, null]],
    ['slower', ['open', null, 'machine']],
  ]);
});

test('a slow machine is one finding while it lasts, no level, and over with the first sweep at the reference', () => {
  const isSlow = (sweep: number): boolean => sweep >= 25 && sweep < 29;
  const gate = gateOf(4, (cell, sweep) => (cell === 0 && isSlow(sweep) ? 1.05 : 1), { pairs: sayAll('machine') });
  gate.skip(25);
  const told = [25, 26, 27, 28, 29].flatMap(() =>
    gate.next().findings.map(({ cause, state }) => [cause, state].join()),
  );
  expect(told).toEqual([...Array(4).fill('machine,open'), 'machine,recovered']);
  expect(gate.findings).toMatchObject([{ lastBadSweepId: sweepOfNight(28) }]);
});

test('the reference is the level before the judged sweep', () => {
  const gate = gateOf(4, (cell, sweep) => (cell > 0 || sweep < 1 ? 1 : 1.004));
  const [first, second] = [gate.next(), gate.next()].map(({ cells }) => cells[0]);
  expect(second).toMatchObject({ verdict: 'same', referenceSweeps: 1 });
  expect(second?.before).toBeCloseTo(first?.now ?? 0, 2);
  expect((second?.now ?? 0) / (second?.before ?? 1)).toBeCloseTo(1.004, 2);
});

test('an acknowledged level is the reference, and a worse one is reported', () => {
  const gate = gateOf(4, (cell, sweep) => (cell > 0 || sweep < 5 ? 1 : sweep < 8 ? 1.05 : 1.1));
  for (let sweep = 0; sweep < 6; sweep += 1) gate.next();
  const [first] = gate.findings;
  gate.acknowledged.set(first?.findingId ?? '', { isOver: false });
  expect(gate.again().cells[0]?.verdict).toBe('same');
  expect([alarms(gate.next(), 6), gate.again().cells[0]]).toMatchObject([[], { verdict: 'same' }]);
  expect([gate.again().cells[0]?.before, alarms(gate.next(), 7)]).toEqual([expect.closeTo(2.1, 1), []]);
  expect([alarms(gate.next(), 8), gate.findings.length]).toMatchObject([[{ firstBadSweepId: sweepOfNight(8) }], 2]);
});

test('an acknowledgement whose time is over gives the earlier reference back', () => {
  const gate = gateOf(4, (cell, sweep) => (cell === 0 && sweep >= 5 ? 1.05 : 1));
  for (let sweep = 0; sweep < 7; sweep += 1) gate.next();
  const [first] = gate.findings;
  gate.acknowledged.set(first?.findingId ?? '', { isOver: false });
  expect(gate.next().cells[0]?.verdict).toBe('same');
  gate.acknowledged.set(first?.findingId ?? '', { isOver: true });
  const last = gate.next();
  expect([last.endedAcknowledgements, last.cells[0]]).toMatchObject([[first?.findingId], { verdict: 'slower' }]);
  expect(last.findings).toMatchObject([{ state: 'open', findingId: first?.findingId }]);
});

test('changes that are too small to matter are no findings', () => {
  const settings = { minChange: [{ metric: null, cells: null, percent: 6 }] };
  const gate = gateOf(4, (cell, sweep) => (cell === 0 && sweep >= 2 ? 1.05 : 1), { settings });
  for (let sweep = 0; sweep < 4; sweep += 1) expect(gate.next().findings).toEqual([]);
});

test('a finding stays open while its cell is slower, also when most of the change is gone', () => {
  const gate = gateOf(4, (cell, sweep) => (cell !== 0 || sweep < 10 ? 1 : sweep < 16 ? 1.05 : sweep < 22 ? 1.015 : 1));
  const said = Array.from({ length: 26 }, () => {
    const verdict = gate.next();
    const own = gate.findings.filter(({ direction, state }) => direction === 'slower' && state === 'open');
    return [verdict.cells[0]?.verdict, own.length];
  });
  expect(said.slice(10, 22)).toEqual(Array.from({ length: 12 }, () => ['slower', 1]));
  expect([said[9], said[25]].flat()).toEqual(['same', 0, 'same', 0]);
});

test('a step with a new build of the same sources is build luck, and no alarm', () => {
  const gate = gateOf(4, (cell, sweep) => (cell === 0 && sweep >= 30 ? 1.05 : 1), {
    build: (cell, sweep) => (cell === 0 && sweep >= 30 ? 'b' : 'a'),
  });
  for (let sweep = 0; sweep < 34; sweep += 1) expect(alarms(gate.next(), sweep)).toEqual([]);
  expect(gate.findings).toMatchObject([{ cause: 'buildLuck', isWarning: true }]);
});

test.each([1, 2])('a step after %i sweeps of a new build at the old level is no build luck', (sweeps) => {
  const gate = gateOf(4, (cell, sweep) => (cell === 0 && sweep >= 30 ? 1.05 : 1), {
    build: (_, sweep) => (sweep >= 30 - sweeps ? 'b' : 'a'),
  });
  for (let sweep = 0; sweep < 31; sweep += 1) gate.next();
  expect(gate.findings).toMatchObject([{ cause: null, isWarning: false }]);
});

/** In which sweeps there is an alarm. */
function alarmed(metric: GatedMetricId, values: readonly number[]): number[] {
  const gate = new SimulatedGate({
    cells: simulatedCells(1),
    metrics: ['gpuComputeMs', metric],
    values: (_, sweep, of) => (of === metric ? [values[sweep] ?? 0] : [2, 2.001, 2.002]),
  });
  return values.flatMap((_, sweep) => (alarms(gate.next(), sweep).length > 0 ? [sweep] : []));
}

test('with several streams the throughput decides, and times that overlap do not', () => {
  const gateWith = (streams: number) =>
    new SimulatedGate({
      cells: simulatedCells(1).map((cell) => ({ ...cell, streams })),
      metrics: ['throughputQps', 'gpuComputeMs', 'p99Ms'],
      values: (_, sweep, metric) =>
        [0, 1, 2].map((run) => (metric !== 'throughputQps' && sweep > 8 ? 2.2 : 2) + run / 1e3),
    });
  const found = [1, 4].map((streams) => {
    const gate = gateWith(streams);
    for (let sweep = 0; sweep < 9; sweep += 1) gate.next();
    const [cell] = simulatedCells(1);
    const judged = gate.next().judgedOf({ cellKey: cell?.key ?? '', metric: 'gpuComputeMs' });
    return [gate.findings.length, judged?.verdict];
  });
  expect(found).toEqual([
    [1, 'slower'],
    [0, undefined],
  ]);
});

test('memory that creeps is told against its reference, a step at once', () => {
  const creep = Array.from({ length: 12 }, (_, sweep) => 10 * 1.018 ** sweep);
  expect(alarmed('engineMib', creep)[0]).toBe(4);
  expect(alarmed('engineMib', [10, 10.05, 10.1, 10.02, 10.4, 10.4, 10.4])).toEqual([4]);
  const scattered = [10, 10.25, 9.9, 10.3, 10.1, 10.25, 10, 10.3, 9.95, 10.2];
  expect(alarmed('engineMib', scattered.slice(1))).toEqual([]);
});

const ZEROS = Array.from({ length: 12 }, () => 0);

test.each<[string, GatedMetricId, number[], number[]]>([
  ['two percent more memory is within its range', 'engineMib', [100, 101.9, 100], []],
  ['more is a finding at once, and once', 'engineMib', [100, 101, 104, 104, 104], [2]],
  ['the old size, and the larger one again', 'contextMib', [100, 104, 100, 100, 100, 100, 100, 104], [1, 7]],
  ['less memory is no alarm', 'engineMib', [100, 90, 90], []],
  ['more GPU memory of the process', 'processMemoryMib', [2400, 2430, 2600, 2600], [2]],
  ['far more host memory, after three sweeps', 'hostMemoryMib', [2300, 3500, 2400, 2350, 15_000], [4]],
  ['more than twice the host memory, in the third sweep', 'hostMemoryMib', [411, 411, 911, 911, 911], [2]],
  ['a build that takes far more memory, after three', 'buildMemoryMib', [100, 180, 100, 400], [3]],
  ['more than twice that of the build, in the third sweep', 'buildMemoryMib', [1500, 1500, 3120], [2]],
  ['five points of precision', 'precisionSharePercent', [98, 93.5, 87], [2]],
  ['a decibel of accuracy', 'sqnrDb', [40, 39.1, 37], [2]],
  ['builds only warn', 'buildS', [60, 60, 60, 60, 600], []],
  ['every run waits for the host: the second sweep', 'hostBoundPercent', [...ZEROS, 100, 100, 100], [13]],
  ['some runs of each sweep: the fourth', 'hostBoundPercent', [...ZEROS, 100, 67, 33, 33, 33], [15]],
  ['every run waits for its copies', 'h2dBoundPercent', [...ZEROS, 100, 100, 100], [13]],
  ['and those from the GPU', 'd2hBoundPercent', [...ZEROS, 100, 100], [13]],
  ['a cap that holds the clock down from now on', 'powerBoundPercent', [...ZEROS, 100, 100], [13]],
  ['one sweep is none', 'hostBoundPercent', [...ZEROS, 100, 0, 0], []],
  ['a cell that waited before', 'hostBoundPercent', [33, 0, 0, 0, 100, 100, 100], []],
])('%s', (_, metric, values, expected) => expect(alarmed(metric, values)).toEqual(expected));

test('a cell that became host-bound a sweep before another one was slower is a finding of its own', () => {
  const gate = new SimulatedGate({
    cells: simulatedCells(2),
    metrics: ['gpuComputeMs', 'hostBoundPercent'],
    values: (cell, sweep, of) => {
      if (of === 'hostBoundPercent') return [cell === 0 && sweep >= 12 ? 100 : 0];
      return quiet(1, () => (cell === 1 && sweep === 13 ? 1.5 : 1))(cell, sweep, of);
    },
  });
  gate.skip(13);
  const found = gate.next().findings.map(({ cells, firstBadSweepId }) => `${cells.length} ${firstBadSweepId}`);
  expect(found.toSorted()).toEqual([12, 13].map((sweep) => `1 ${sweepOfNight(sweep)}`));
});

test.each([true, false])(
  'a change that begins after the report of another one is new (acknowledged: %s)',
  (isAccepted) => {
    const gate = new SimulatedGate({
      cells: simulatedCells(1),
      metrics: ['gpuComputeMs', 'contextMib'],
      values: (_, sweep, of) => {
        const steps = of === 'contextMib' ? [sweep >= 3, 25, 30] : [sweep >= 4, 1, 1.3];
        return [1, 1.001, 1.002].map((noise) => noise * Number(steps[0] === true ? steps[2] : steps[1]));
      },
    });
    gate.skip(3);
    const [first] = gate.next().findings;
    if (isAccepted) gate.acknowledged.set(first?.findingId ?? '', { isOver: false });
    const { cells, findings } = gate.next();
    expect(cells).toMatchObject([{ verdict: 'slower', changePercent: expect.closeTo(30, 0) }]);
    expect(findings.map(({ firstBadSweepId }) => firstBadSweepId)).toEqual([3, 4].map((sweep) => sweepOfNight(sweep)));
  },
);

test('a step that returns after one sweep at the reference continues its finding', () => {
  const gate = gateOf(2, (cell, sweep) => (cell === 0 && sweep >= 8 && sweep !== 12 ? 1.055 : 1));
  const findings = Array.from({ length: 14 }, () => gate.next().findings).at(-1);
  expect(findings).toMatchObject([{ state: 'open', firstBadSweepId: sweepOfNight(8) }]);
});

test('the old size again is a recovery, and no news', () => {
  const sizes = [24, 24, 41, 24];
  const gate = new SimulatedGate({
    cells: simulatedCells(1),
    metrics: ['gpuComputeMs', 'engineMib'],
    values: (_, sweep, of) => (of === 'engineMib' ? [sizes[sweep] ?? 0] : [2, 2.001, 2.002]),
  });
  const states = sizes.map(() => gate.next().findings.map(({ direction, state }) => `${direction} ${state}`));
  expect(states).toEqual([[], [], ['slower open'], ['slower recovered']]);
});

const PAST = [
  [1, 1.002, 1, 1.003, 1.001, 1, 1.002],
  [2, 2.004, 2.003, 2, 2.001, 2.005, 2],
  [3, 3.006, 3, 3.003, 3.009, 3, 3],
  [4, 4, 4.01, 4.004, 4, 4.008, 4],
];
const NOW = [1.05, 2.002, 3, 4];

const commonSd = () => 0.001;

function judgedOf(now: readonly (number | null)[]): JudgedCell[] {
  return PAST.map((past, index) => ({
    cellKey: String(index),
    verdict: 'same',
    reason: null,
    metric: 'gpuComputeMs',
    before: median(past),
    now: now[index] ?? null,
    changePercent: null,
    ciPercent: [-0.2, 0.4],
    mdePercent: null,
    levels: null,
    runs: 1,
    referenceSweeps: 7,
    notes: [],
  }));
}

// Python: sd = log(1.004 / 0.998) / 2 / 1.96 of each cell, and .001 ** 2 * (1 + 1 / 7) that sweeps share;
// statistics.NormalDist().inv_cdf(0.975)
test('the newest values over the reference levels, with an interval from those of the cells', () => {
  const mean = meanChange(judgedOf(NOW), commonSd);
  expect([mean, mean?.changePercent]).toMatchObject([{ cells: 4, leftOut: 0 }, expect.closeTo(1.21457399, 7)]);
  expect(mean?.ciPercent?.[0]).toBeCloseTo(0.95418273, 5);
  expect(mean?.ciPercent?.[1]).toBeCloseTo(1.47563688, 5);
});

test('a cell that failed is left out', () => {
  expect(meanChange(judgedOf([...NOW.slice(0, 3), null]), commonSd)).toMatchObject({ cells: 3, leftOut: 1 });
});

test('a p99 that follows its GPU time later belongs to the finding, a larger loss does not', () => {
  const found = (loss: number) => {
    const normal = normals(3);
    const values = (_cell: number, sweep: number, metric: GatedMetricId): number[] => {
      const [begin, factor] = metric === 'p99Ms' ? [16, loss] : [10, 1.06];
      return Array.from({ length: 3 }, () => Math.exp(0.002 * normal()) * (sweep < begin ? 1 : factor));
    };
    const gate = new SimulatedGate({ cells: simulatedCells(1), metrics: ['gpuComputeMs', 'p99Ms'], values });
    for (let sweep = 0; sweep < 20; sweep += 1) gate.next();
    return gate.findings.map(({ cells }) => cells.map(({ metric }) => metric));
  };
  expect(found(1.06)).toEqual([['gpuComputeMs', 'p99Ms']]);
  expect(found(1.2)).toEqual([['gpuComputeMs'], ['p99Ms']]);
});
