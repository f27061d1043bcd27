import { expect, test } from 'vitest';

import { limitFindings, type SweepValues } from '../../../src/judge/gate/limit-findings.ts';
import { gateRules } from '../../../src/judge/gate/limits.ts';
import { type GateSettings, NO_GATE } from '../../../src/records/gate-settings.ts';
import { type Finding, findingSchema } from '../../../src/records/finding.ts';

const NONE: ReadonlySet<string> = new Set();
const VIT = 'a'.repeat(32);
const BERT = 'b'.repeat(32);
const SERIES = { branch: 'main', matrix: 'nightly', provenance: 'measured' } as const;
const SETTINGS: GateSettings = {
  ...NO_GATE,
  limits: [{ text: 'p99 <= 2 ms', filter: null, metric: 'p99Ms', comparison: '<=', value: 2, cells: null }],
  owners: [{ owner: 'team-vision', cells: [VIT] }],
};

/** A sweep with the p99 of the two cells; null for one without a value. */
function sweep(number: number, vit: number | null, bert: number | null): SweepValues {
  const rows = [
    [VIT, vit],
    [BERT, bert],
  ] as const;
  return {
    sweepId: String(number).padStart(32, '0'),
    values: new Map(rows.map(([cell, value]) => [cell, new Map(value === null ? [] : [['p99Ms' as const, value]])])),
  };
}

/** The findings after each sweep, those of the one before being known. */
function judged(sweeps: readonly SweepValues[], settings = SETTINGS): Finding[][] {
  let known: readonly Finding[] = [];
  return sweeps.map((_, index) => {
    const [first, ...others] = sweeps.slice(0, index + 1);
    if (first === undefined) return [];
    const found = limitFindings({
      rules: gateRules(settings),
      sweeps: [first, ...others],
      known,
      acknowledged: NONE,
      series: SERIES,
    });
    known = [...known.filter(({ findingId }) => found.every((each) => each.findingId !== findingId)), ...found];
    return found;
  });
}

function briefly(findings: readonly Finding[]) {
  return findings.map(({ state, cells, reportedSweepId }) => [
    state,
    Number(reportedSweepId),
    cells.map(({ cellKey, after }) => [cellKey, after]),
  ]);
}

test('a limit that is broken in the first sweep is a finding with its limit, value and owner', () => {
  const [found = []] = judged([sweep(1, 2.5, 1)]);
  const [finding] = found;
  expect(findingSchema.parse(finding)).toEqual(finding);
  expect(found).toEqual([
    {
      ...SERIES,
      findingId: expect.stringMatching(/^[0-9a-f]{32}$/),
      kind: 'limit',
      isWarning: false,
      direction: 'slower',
      state: 'open',
      group: [],
      lasts: 'measured',
      cause: null,
      environmentChanges: [],
      pairs: null,
      lastGoodSweepId: null,
      firstBadSweepId: sweep(1, 0, 0).sweepId,
      lastBadSweepId: sweep(1, 0, 0).sweepId,
      reportedSweepId: sweep(1, 0, 0).sweepId,
      owner: 'team-vision',
      cells: [{ cellKey: VIT, metric: 'p99Ms', changePercent: 25, ciPercent: null, margin: 1, before: 2, after: 2.5 }],
    },
  ]);
});

test('it is reported once, open while it lasts, and recovered when it holds', () => {
  const [, second, third, fourth] = judged([sweep(1, 2.5, 1), sweep(2, 2.6, 1), sweep(3, null, 1), sweep(4, 1.9, 1)]);
  expect([second, third, fourth].map((found) => briefly(found ?? []))).toEqual([
    [['open', 1, [[VIT, 2.6]]]],
    [['open', 1, [[VIT, 2.6]]]],
    [['recovered', 1, [[VIT, 2.6]]]],
  ]);
});

test('another cell that breaks it later is another finding, as is the same one after it has recovered', () => {
  const sweeps = [sweep(1, 2.5, 1), sweep(2, 2.5, 3), sweep(3, 1, 3), sweep(4, 2.1, 3)];
  expect(judged(sweeps).map(briefly)).toEqual([
    [['open', 1, [[VIT, 2.5]]]],
    [
      ['open', 1, [[VIT, 2.5]]],
      ['open', 2, [[BERT, 3]]],
    ],
    [
      ['recovered', 1, [[VIT, 2.5]]],
      ['open', 2, [[BERT, 3]]],
    ],
    [
      ['open', 2, [[BERT, 3]]],
      ['open', 4, [[VIT, 2.1]]],
    ],
  ]);
});

test('cells that break a limit together are one finding, since the sweep after the last in which they kept it', () => {
  const [, , found = []] = judged([sweep(1, 1, 1), sweep(2, 1.5, 1), sweep(3, 4, 5)]);
  expect(briefly(found)).toEqual([
    [
      'open',
      3,
      [
        [VIT, 4],
        [BERT, 5],
      ],
    ],
  ]);
  expect(
    found.map(({ lastGoodSweepId, firstBadSweepId }) => [Number(lastGoodSweepId), Number(firstBadSweepId)]),
  ).toEqual([[2, 3]]);
});

test('a limit that is stated after it was broken says since when', () => {
  const sweeps = [sweep(1, 1, 1), sweep(2, 4, 1), sweep(3, 4, 1)] as const;
  const [finding] = limitFindings({
    rules: gateRules(SETTINGS),
    sweeps,
    known: [],
    acknowledged: NONE,
    series: SERIES,
  });
  expect([finding?.lastGoodSweepId, finding?.firstBadSweepId, finding?.reportedSweepId].map(Number)).toEqual([1, 2, 3]);
});

test('an acknowledged value stays the one that later ones are held against', () => {
  const [known = []] = judged([sweep(1, 3, 1)]);
  const acknowledged = new Set(known.map(({ findingId }) => findingId));
  const found = limitFindings({
    rules: gateRules(SETTINGS),
    sweeps: [sweep(2, 3.1, 1)],
    known,
    acknowledged,
    series: SERIES,
  });
  expect(briefly(found)).toEqual([['open', 1, [[VIT, 3]]]]);
});

test('asked again of the same sweep it says the same', () => {
  const [first = []] = judged([sweep(1, 3, 1)]);
  const again = limitFindings({
    rules: gateRules(SETTINGS),
    sweeps: [sweep(1, 3, 1)],
    known: first,
    acknowledged: NONE,
    series: SERIES,
  });
  expect(again).toEqual(first);
});

test('a limit that nobody sets any more is over', () => {
  const [known = []] = judged([sweep(1, 3, 1)]);
  const found = limitFindings({
    rules: gateRules(NO_GATE),
    sweeps: [sweep(2, 3, 1)],
    known,
    acknowledged: NONE,
    series: SERIES,
  });
  expect(briefly(found)).toEqual([['recovered', 1, [[VIT, 3]]]]);
});

test('what only warns has limits that only warn', () => {
  const [[finding] = []] = judged([sweep(1, 3, 1)], { ...SETTINGS, warn: [{ metric: 'p99Ms', cells: null }] });
  expect(finding?.isWarning).toBe(true);
});
