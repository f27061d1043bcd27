import { expect, test } from 'vitest';

import type { CellEvidence } from '../../../src/judge/gate/evidence.ts';
import { gateRules, limitFindings } from '../../../src/judge/gate/limits.ts';
import { type GateSettings, NO_GATE } from '../../../src/records/gate-settings.ts';
import { type Finding, findingSchema } from '../../../src/records/finding.ts';
import { newSweep } from '../../../src/records/sweep.ts';
import { simulatedCells } from '../../support/simulated-store.ts';

const VIT = 'a'.repeat(32);
const BERT = 'b'.repeat(32);
const [CELL] = simulatedCells(1);
const SETTINGS: GateSettings = {
  ...NO_GATE,
  limits: [{ text: 'p99 <= 2 ms', filter: null, metric: 'p99Ms', comparison: '<=', value: 2, cells: null }],
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
    const history = { nights: known.map(({ place }) => place), values: Float64Array.from(known, ({ value }) => value) };
    const metrics = [{ metric: 'p99Ms' as const, history, runs: [] }];
    return CELL === undefined
      ? []
      : [{ cell: { ...CELL, key }, metrics, environmentIds: [], isPlanned: true, failures: [] }];
  });
  return limitFindings({
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
    baseSweeps: null,
    environments: new Map(),
    pairs: null,
  });
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

function briefly(findings: readonly Finding[]) {
  return findings.map(({ state, cells, reportedSweepId }) => [
    state,
    Number(reportedSweepId),
    cells.map(({ cellKey, after }) => [cellKey, after]),
  ]);
}

test('a limit that is broken in the first sweep is a finding with its limit, value and owner', () => {
  const [found = []] = judged([[1, 2.5, 1]]);
  const [finding] = found;
  expect(findingSchema.parse(finding)).toEqual(finding);
  expect(found).toEqual([
    {
      branch: null,
      matrix: 'nightly',
      provenance: 'measured',
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
      firstBadSweepId: '1'.padStart(32, '0'),
      lastBadSweepId: '1'.padStart(32, '0'),
      reportedSweepId: '1'.padStart(32, '0'),
      owner: 'team-vision',
      cells: [{ cellKey: VIT, metric: 'p99Ms', changePercent: 25, ciPercent: null, margin: 1, before: 2, after: 2.5 }],
    },
  ]);
});

test('it is reported once, open while it lasts, and recovered when it holds', () => {
  const [, second, third, fourth] = judged([
    [1, 2.5, 1],
    [2, 2.6, 1],
    [3, null, 1],
    [4, 1.9, 1],
  ]);
  expect([second, third, fourth].map((found) => briefly(found ?? []))).toEqual([
    [['open', 1, [[VIT, 2.6]]]],
    [['open', 1, [[VIT, 2.6]]]],
    [['recovered', 1, [[VIT, 2.6]]]],
  ]);
});

test('another cell that breaks it later is another finding, as is the same one after it has recovered', () => {
  const sweeps: readonly SweepValues[] = [
    [1, 2.5, 1],
    [2, 2.5, 3],
    [3, 1, 3],
    [4, 2.1, 3],
  ];
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
  const [, , found = []] = judged([
    [1, 1, 1],
    [2, 1.5, 1],
    [3, 4, 5],
  ]);
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
  const sweeps: readonly SweepValues[] = [
    [1, 1, 1],
    [2, 4, 1],
    [3, 4, 1],
  ];
  const [finding] = limitsOf(sweeps);
  expect([finding?.lastGoodSweepId, finding?.firstBadSweepId, finding?.reportedSweepId].map(Number)).toEqual([1, 2, 3]);
});

test('an acknowledged value stays the one that later ones are held against', () => {
  const [known = []] = judged([[1, 3, 1]]);
  const found = limitsOf([[2, 3.1, 1]], known, { accepted: known });
  expect(briefly(found)).toEqual([['open', 1, [[VIT, 3]]]]);
});

test('asked again of the same sweep it says the same', () => {
  const [first = []] = judged([[1, 3, 1]]);
  const again = limitsOf([[1, 3, 1]], first);
  expect(again).toEqual(first);
});

test('a limit that nobody sets any more is over', () => {
  const [known = []] = judged([[1, 3, 1]]);
  const found = limitsOf([[2, 3, 1]], known, { settings: NO_GATE });
  expect(briefly(found)).toEqual([['recovered', 1, [[VIT, 3]]]]);
});

test('what only warns has limits that only warn', () => {
  const [[finding] = []] = judged([[1, 3, 1]], { ...SETTINGS, warn: [{ metric: 'p99Ms', cells: null }] });
  expect(finding?.isWarning).toBe(true);
});
