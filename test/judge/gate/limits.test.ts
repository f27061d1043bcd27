import { expect, test } from 'vitest';

import { brokenLimits, gateRules, limitsWithoutValue, limitText } from '../../../src/judge/gate/limits.ts';
import { type GateLimit, type GateSettings, NO_GATE } from '../../../src/records/gate-settings.ts';
import type { GatedMetricId } from '../../../src/records/gated-metric.ts';

const FIRST = 'a'.repeat(32);
const SECOND = 'b'.repeat(32);
const THIRD = 'c'.repeat(32);

function gate(settings: Partial<GateSettings>): GateSettings {
  return { ...NO_GATE, ...settings };
}

function atMost(metric: GatedMetricId, value: number, cells: readonly string[] | null = null): GateLimit {
  return { text: `${metric} <= ${value}`, filter: null, metric, comparison: '<=', value, cells };
}

function values(...rows: readonly (readonly [string, GatedMetricId, number])[]): Parameters<typeof brokenLimits>[1] {
  const byCell = Map.groupBy(rows, ([cell]) => cell);
  return new Map([...byCell].map(([cell, own]) => [cell, new Map(own.map(([, metric, value]) => [metric, value]))]));
}

test('a value at its limit holds, one beyond is broken, by its distance from the limit', () => {
  const atLeast: GateLimit = { ...atMost('sqnrDb', 25), text: 'sqnr >= 25', comparison: '>=' };
  const rules = gateRules(gate({ limits: [atMost('p99Ms', 2), atLeast] }));
  const broken = brokenLimits(
    rules,
    values([FIRST, 'p99Ms', 2], [SECOND, 'p99Ms', 2.5], [SECOND, 'sqnrDb', 20], [THIRD, 'sqnrDb', 25]),
  );
  expect(broken).toEqual([
    { limit: atMost('p99Ms', 2), cell: SECOND, value: 2.5, beyondPercent: 25 },
    { limit: atLeast, cell: SECOND, value: 20, beyondPercent: expect.closeTo(-20, 10) },
  ]);
});

test('a limit of nothing has no percentage beyond it', () => {
  const rules = gateRules(gate({ limits: [atMost('hostBoundPercent', 0)] }));
  expect(brokenLimits(rules, values([FIRST, 'hostBoundPercent', 33]))).toMatchObject([
    { value: 33, beyondPercent: null },
  ]);
});

test('the last limit that fits a cell holds, so that exceptions can follow a rule', () => {
  const rules = gateRules(gate({ limits: [atMost('p99Ms', 2), atMost('p99Ms', 5, [SECOND])] }));
  const found = brokenLimits(rules, values([FIRST, 'p99Ms', 3], [SECOND, 'p99Ms', 3], [THIRD, 'engineMib', 3]));
  expect(found.map(({ cell }) => cell)).toEqual([FIRST]);
});

test('a limit that none of its cells has a value for is named', () => {
  const settings = gate({ limits: [atMost('p99Ms', 2, [FIRST]), atMost('contextMib', 2), atMost('p99Ms', 9)] });
  const newest = values([FIRST, 'gpuComputeMs', 1], [SECOND, 'p99Ms', 1]);
  expect(limitsWithoutValue(gateRules(settings), newest).map(limitText)).toEqual(['p99Ms <= 2', 'contextMib <= 2']);
  expect(limitText({ ...atMost('p99Ms', 2), filter: 'model=vit*' })).toBe('p99Ms <= 2 (model=vit*)');
});

test('the smallest change is that of the last entry that fits, and shares and decibels have one only by name', () => {
  const settings = gate({
    minChange: [
      { metric: null, cells: null, percent: 2 },
      { metric: 'p99Ms', cells: [FIRST], percent: 8 },
    ],
  });
  const { minChangeOf } = gateRules(settings);
  expect([
    minChangeOf(FIRST, 'p99Ms'),
    minChangeOf(FIRST, 'gpuComputeMs'),
    minChangeOf(SECOND, 'p99Ms'),
    minChangeOf(FIRST, 'sqnrDb'),
  ]).toEqual([8, 2, 2, 0]);
  const ofCommandLine = gateRules(settings, 1).minChangeOf;
  expect([ofCommandLine(FIRST, 'p99Ms'), ofCommandLine(FIRST, 'precisionSharePercent')]).toEqual([1, 0]);
  expect(gateRules(NO_GATE).minChangeOf(FIRST, 'p99Ms')).toBe(0);
});

test('build time only warns, and so does what a matrix names', () => {
  const { isWarning } = gateRules(
    gate({
      warn: [
        { metric: 'p99Ms', cells: null },
        { metric: null, cells: [SECOND] },
      ],
    }),
  );
  expect([
    isWarning(FIRST, 'buildS'),
    isWarning(FIRST, 'p99Ms'),
    isWarning(FIRST, 'gpuComputeMs'),
    isWarning(SECOND, 'gpuComputeMs'),
  ]).toEqual([true, true, false, true]);
});

test('a finding belongs to everybody who looks after one of its cells', () => {
  const { ownerOf } = gateRules(
    gate({
      owners: [
        { owner: 'team-vision', cells: [FIRST, SECOND] },
        { owner: 'quantization', cells: [SECOND] },
      ],
    }),
  );
  expect([ownerOf([FIRST]), ownerOf([SECOND]), ownerOf([SECOND, FIRST, THIRD]), ownerOf([THIRD])]).toEqual([
    'team-vision',
    'quantization',
    'quantization, team-vision',
    null,
  ]);
});
