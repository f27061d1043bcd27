import { expect, test } from 'vitest';

import { type CellEvidence, gateRules } from '../../../src/judge/gate/evidence.ts';
import { judgedFacts } from '../../../src/judge/gate/judged-facts.ts';
import { brokenLimits, limitFindings, limitsWithoutValue } from '../../../src/judge/gate/limit-findings.ts';
import { type Finding, findingSchema } from '../../../src/records/finding.ts';
import { type GateLimit, type GateSettings, type GatedMetricId, NO_GATE } from '../../../src/records/gated-metric.ts';
import { newSweep } from '../../../src/records/sweep.ts';
import { SimulatedGate } from '../../support/gate-evidence.ts';
import { simulatedCells, sweepOfNight } from '../../support/simulated-store.ts';

const FIRST = 'a'.repeat(32);
const SECOND = 'b'.repeat(32);
const THIRD = 'c'.repeat(32);
const IDLE = [THIRD, 'hostBoundPercent', 33] as const;

const rulesOf = (settings: Partial<GateSettings>) => gateRules({ ...NO_GATE, ...settings });

function atMost(metric: GatedMetricId, value: number, cells: readonly string[] | null = null): GateLimit {
  return { text: `${metric} <= ${value}`, filter: null, metric, comparison: '<=', value, cells };
}

function values(...rows: readonly (readonly [string, GatedMetricId, number])[]): Parameters<typeof brokenLimits>[1] {
  return rows.map(([cellKey, metric, value]) => ({ cellKey, metric, value }));
}

test('a value at its limit holds, one beyond is broken, by its distance from the limit', () => {
  const atLeast: GateLimit = { ...atMost('sqnrDb', 25), text: 'sqnr >= 25', comparison: '>=' };
  const broken = brokenLimits(
    rulesOf({ limits: [atMost('p99Ms', 2), atLeast, atMost('hostBoundPercent', 0)] }),
    values([FIRST, 'p99Ms', 2], [SECOND, 'p99Ms', 2.5], [SECOND, 'sqnrDb', 20], [THIRD, 'sqnrDb', 25], IDLE),
  );
  expect(broken).toMatchObject([
    { limit: atMost('p99Ms', 2), cell: { cellKey: SECOND, before: 2, after: 2.5, changePercent: 25 } },
    { limit: atLeast, cell: { cellKey: SECOND, before: 25, after: 20, changePercent: expect.closeTo(-20, 10) } },
    // Beyond a limit of nothing there is no percentage.
    { cell: { cellKey: THIRD, after: 33, changePercent: 0 } },
  ]);
});

test('the last limit that fits a cell holds, so that exceptions can follow a rule', () => {
  const rules = rulesOf({ limits: [atMost('p99Ms', 2), atMost('p99Ms', 5, [SECOND])] });
  const found = brokenLimits(rules, values([FIRST, 'p99Ms', 3], [SECOND, 'p99Ms', 3], [THIRD, 'engineMib', 3]));
  expect(found.map(({ cell }) => cell.cellKey)).toEqual([FIRST]);
});

test('a limit that none of its cells has a value for is named', () => {
  const ofFilter = { ...atMost('contextMib', 2), filter: 'model=vit*' };
  const rules = rulesOf({ limits: [atMost('p99Ms', 2, [FIRST]), ofFilter, atMost('p99Ms', 9)] });
  const newest = values([FIRST, 'gpuComputeMs', 1], [SECOND, 'p99Ms', 1]);
  expect(limitsWithoutValue(rules, newest)).toEqual(['p99Ms <= 2', 'contextMib <= 2 (model=vit*)']);
});

test('the smallest change is that of the last entry that fits, and shares and decibels have one only by name', () => {
  const ofFirst = { metric: 'p99Ms' as const, cells: [FIRST], percent: 8 };
  const settings = { ...NO_GATE, minChange: [{ metric: null, cells: null, percent: 2 }, ofFirst] };
  const { minChangeOf } = gateRules(settings);
  const found = (['p99Ms', 'gpuComputeMs', 'sqnrDb'] as const).map((metric) => minChangeOf(FIRST, metric));
  expect([...found, minChangeOf(SECOND, 'p99Ms')]).toEqual([8, 2, 0, 2]);
  const ofCommandLine = gateRules(settings, 1).minChangeOf;
  expect([ofCommandLine(FIRST, 'p99Ms'), ofCommandLine(FIRST, 'precisionSharePercent')]).toEqual([1, 0]);
  expect(gateRules(NO_GATE).minChangeOf(FIRST, 'p99Ms')).toBe(0);
});

test('build time only warns, and so does what a matrix names', () => {
  const ofSecond = { metric: null, cells: [SECOND] };
  const { isWarning } = rulesOf({ warn: [{ metric: 'p99Ms', cells: null }, ofSecond] });
  const found = (['buildS', 'p99Ms', 'gpuComputeMs'] as const).map((metric) => isWarning(FIRST, metric));
  expect([...found, isWarning(SECOND, 'gpuComputeMs')]).toEqual([true, true, false, true]);
});

test('a finding belongs to everybody who looks after one of its cells', () => {
  const quantization = { owner: 'quantization', cells: [SECOND] };
  const { ownerOf } = rulesOf({ owners: [{ owner: 'team-vision', cells: [FIRST, SECOND] }, quantization] });
  const expected = ['team-vision', 'quantization', 'quantization, team-vision', null];
  expect([ownerOf([FIRST]), ownerOf([SECOND]), ownerOf([SECOND, FIRST, THIRD]), ownerOf([THIRD])]).toEqual(expected);
});

const [VIT, BERT] = [FIRST, SECOND];
const [CELL] = simulatedCells(1);
const SETTINGS: GateSettings = {
  ...NO_GATE,
  limits: [atMost('p99Ms', 2)],
  owners: [{ owner: 'team-vision', cells: [VIT] }],
};

/** A sweep: its number, and the p99 of the two cells; null for one without a value. */
type SweepValues = readonly [number, vit: number | null, bert: number | null];

/** What limits say of the last of these sweeps. */
function limitsOf(
  sweeps: readonly SweepValues[],
  findings: readonly Finding[] = [],
  { settings = SETTINGS, accepted = [] }: { settings?: GateSettings; accepted?: readonly Finding[] } = {},
): Finding[] {
  const cells = [VIT, BERT].flatMap((key, index): CellEvidence[] => {
    const known = sweeps.flatMap((sweep, place) => {
      const value = sweep[index + 1] ?? null;
      return value === null ? [] : [{ place, value }];
    });
    const history = { places: known.map(({ place }) => place), values: Float64Array.from(known, ({ value }) => value) };
    const metrics = [{ metric: 'p99Ms' as const, history, runsAt: () => [] }];
    return CELL === undefined
      ? []
      : [{ cell: { ...CELL, key }, metrics, environmentIds: [], isPlanned: true, failures: [] }];
  });
  const evidence = {
    cells,
    findings,
    rules: gateRules(settings),
    sweeps: sweeps.map(([number]) =>
      newSweep({
        sweepId: String(number).padStart(32, '0'),
        source: 'run',
        provenance: 'measured',
        toolVersion: '0',
        matrix: 'nightly',
      }),
    ),
    acknowledged: new Map(accepted.map(({ findingId }) => [findingId, { isOver: false }])),
    isPullRequest: false,
    environments: new Map(),
    pairs: null,
  };
  return limitFindings(judgedFacts(evidence));
}

/** The findings after each sweep, those of the one before being known. */
function judged(sweeps: readonly SweepValues[], settings = SETTINGS): Finding[][] {
  let known: readonly Finding[] = [];
  return sweeps.map((_, index) => {
    const found = limitsOf(sweeps.slice(0, index + 1), known, { settings });
    known = [...known.filter(({ findingId }) => found.every((each) => each.findingId !== findingId)), ...found];
    return found;
  });
}

/** State, sweep, and the value of each cell. */
function briefly(findings: readonly Finding[]): string[] {
  const nameOf = (key: string): string => (key === VIT ? 'vit' : 'bert');
  return findings.map(({ state, cells, reportedSweepId }) => {
    const texts = cells.map(({ cellKey, after }) => `${nameOf(cellKey)} ${after}`);
    return `${state} ${Number(reportedSweepId)}: ${texts.join(', ')}`;
  });
}

test('a limit that is broken in the first sweep is a finding with its limit, value and owner', () => {
  const [found = []] = judged([[1, 2.5, 1]]);
  expect(found.map((finding) => findingSchema.parse(finding))).toEqual(found);
  const first = '1'.padStart(32, '0');
  const sweeps = { lastGoodSweepId: null, firstBadSweepId: first, reportedSweepId: first };
  const cells = [{ cellKey: VIT, metric: 'p99Ms', changePercent: 25, before: 2, after: 2.5 }];
  const kind = { kind: 'limit', isWarning: false, state: 'open', lasts: 'measured', owner: 'team-vision' };
  expect(found).toMatchObject([{ ...kind, ...sweeps, cells }]);
});

test('it is reported once, open while it lasts, and recovered when it holds', () => {
  const [, second, third, fourth] = judged([
    [1, 2.5, 1],
    [2, 2.6, 1],
    [3, null, 1],
    [4, 1.9, 1],
  ]);
  const states = [second, third, fourth].flatMap((found) => briefly(found ?? []));
  expect(states).toEqual(['open 1: vit 2.6', 'open 1: vit 2.6', 'recovered 1: vit 2.6']);
});

test('another cell that breaks it later is another finding, as is the same one after it has recovered', () => {
  const sweeps: readonly SweepValues[] = [
    [1, 2.5, 1],
    [2, 2.5, 3],
    [3, 1, 3],
    [4, 2.1, 3],
  ];
  expect(judged(sweeps).map((found) => briefly(found).join('; '))).toEqual([
    'open 1: vit 2.5',
    'open 1: vit 2.5; open 2: bert 3',
    'recovered 1: vit 2.5; open 2: bert 3',
    'open 2: bert 3; open 4: vit 2.1',
  ]);
});

test('cells that break a limit together are one finding, since the sweep after the last in which they kept it', () => {
  const [, , found = []] = judged([
    [1, 1, 1],
    [2, 1.5, 1],
    [3, 4, 5],
  ]);
  expect(briefly(found)).toEqual(['open 3: vit 4, bert 5']);
  const sweeps = { lastGoodSweepId: '2'.padStart(32, '0'), firstBadSweepId: '3'.padStart(32, '0') };
  expect(found).toMatchObject([sweeps]);
});

test('an acknowledged value stays the one that later ones are held against; a limit that nobody sets any more is over', () => {
  const [known = []] = judged([[1, 3, 1]]);
  expect(briefly(limitsOf([[2, 3.1, 1]], known, { accepted: known }))).toEqual(['open 1: vit 3']);
  expect(briefly(limitsOf([[2, 3, 1]], known, { settings: NO_GATE }))).toEqual(['recovered 1: vit 3']);
});

test('a broken limit has the date of the first sweep of those that break it', () => {
  const gate = new SimulatedGate({
    cells: simulatedCells(1),
    metrics: ['gpuComputeMs'],
    values: (_, sweep) => [sweep < 2 ? 1 : 1.4],
    settings: { limits: [atMost('gpuComputeMs', 1.2)] },
  });
  gate.skip(4);
  expect(gate.next().findings.filter(({ kind }) => kind === 'limit')).toMatchObject([
    { firstBadSweepId: sweepOfNight(2), lastGoodSweepId: sweepOfNight(1), reportedSweepId: sweepOfNight(4) },
  ]);
});
