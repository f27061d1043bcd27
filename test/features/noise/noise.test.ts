import { join } from 'node:path';

import stringWidth from 'string-width';
import { beforeAll, describe, expect, test } from 'vitest';

import { printable } from '../../../src/text/printable.ts';
import { OUTPUTS } from '../../support/outputs.ts';
import { bench, ROOT, sharedFolder, temporaryFolder } from '../../support/bench.ts';
import { STUB, stubMatrix } from '../../support/stub.ts';
import type { Finding } from '../../../src/records/finding.ts';
import { openStore } from '../../../src/store/file/open.ts';
import { saveVerdict } from '../../../src/store/sweeps/findings.ts';
import { normals, simulatedCells, simulateNights, sweepOfNight } from '../../support/simulated-store.ts';

const MATRICES = join(ROOT, 'matrices');
const CELLS = simulatedCells(12);
const NIGHTS = 12;

interface Alarms {
  readonly comparisons: number;
  readonly cells: number;
  readonly cellComparisons: number;
  readonly calls: number;
  readonly ofCells: { readonly ciPercent: readonly [number, number] } | null;
}

interface Noise {
  readonly sweeps: number;
  readonly repeats: number | null;
  readonly provenance: string;
  readonly mdePercent: { typical: number; least: number; most: number } | null;
  readonly falseAlarms: { halves: Alarms; neighbours: Alarms; leftOut: number };
  readonly effort: {
    readonly cells: number;
    readonly now: { runs: number; gpuMinutes: number | null };
    readonly wanted: { runs: number; gpuMinutes: number | null };
  };
  readonly cells: readonly {
    readonly label: string;
    readonly metric: string;
    readonly runs: number;
    readonly repeats: number;
    readonly runPercent: number | null;
    readonly nightPercent: number | null;
    readonly larger: string | null;
    readonly mdePercent: number | null;
    readonly repeatsWanted: number | null;
    readonly attainablePercent: number | null;
    readonly wallS: number | null;
    readonly twoStates: { levels: [number, number]; visits: [number, number] } | null;
  }[];
  readonly builds: readonly {
    readonly label: string;
    readonly builds: number;
    readonly runs: number;
    readonly buildPercent: number;
    readonly runPercent: number;
    readonly pValue: number;
    readonly differ: boolean;
    readonly kernels: unknown;
  }[];
  readonly notes: readonly string[];
}

/** Cells are listed by their labels: `vit fp8 4x3x224x224 graph` is the fourth that was made. */
function placeOf(label: string): number {
  return Number(/ (\d+)x/.exec(label)?.[1]) - 1;
}

async function noise(db: string, ...args: string[]): Promise<Noise> {
  const { code, stdout, stderr } = await bench(['noise', ...args, '--json', '--db', db]);
  if (code !== 0 || stderr !== '') throw new Error(`exit code ${code}: ${stderr}`);
  const issues = OUTPUTS.noise.safeParse(JSON.parse(stdout)).error?.issues ?? [];
  if (issues.length > 0) throw new Error(JSON.stringify(issues));
  return JSON.parse(stdout);
}

describe('a quiet machine, with one noisy cell and one in two states', () => {
  let db: string;

  beforeAll(() => {
    db = join(sharedFolder(), 'bench.sqlite');
    const normal = normals(41);
    simulateNights(db, {
      cells: CELLS,
      nights: NIGHTS,
      repeats: 4,
      wallS: (cell) => 10 + cell,
      value: (cell, night, repeat) => {
        const sigma = cell === 3 ? 0.02 : 0.002;
        const isHigh = cell === 5 && (3 * night + repeat) % 4 === 0;
        return (0.5 + 0.1 * cell) * Math.exp(sigma * normal()) * (isHigh ? 1.04 : 1);
      },
    });
  });

  test('the noise of each cell is what was put in', async () => {
    const { cells, sweeps, provenance } = await noise(db);
    expect([sweeps, provenance, cells.length]).toEqual([NIGHTS, 'simulated', CELLS.length]);
    for (const cell of cells) {
      const index = placeOf(cell.label);
      expect([cell.runs, cell.repeats, cell.wallS]).toEqual([48, 4, 10 + index]);
      if (index === 3 || index === 5) continue;
      expect(cell.runPercent).toBeGreaterThan(0.15);
      expect(cell.runPercent).toBeLessThan(0.26);
      expect(cell.nightPercent).toBeLessThan(0.25);
      expect(cell.mdePercent).toBeLessThan(2);
      expect(cell.twoStates).toBeNull();
    }
    const noisy = cells.find(({ label }) => placeOf(label) === 3);
    expect(noisy?.runPercent).toBeGreaterThan(1.6);
    expect(noisy?.runPercent).toBeLessThan(2.5);
    expect(noisy?.mdePercent).toBeGreaterThan(3);
    expect(noisy?.repeatsWanted).toBeGreaterThan(4);
  });

  test('the cell in two states is named with both levels and the visits', async () => {
    const { cells } = await noise(db);
    const jumping = cells.filter(({ twoStates }) => twoStates !== null);
    expect(jumping.map(({ label }) => placeOf(label))).toEqual([5]);
    const states = jumping[0]?.twoStates;
    expect(states?.levels[0]).toBeCloseTo(1, 2);
    expect(states?.levels[1]).toBeCloseTo(1.04, 2);
    expect(states?.visits).toEqual([10, 9]);
    const { stdout } = await bench(['noise', '--db', db]);
    expect(stdout).toContain('1 cell in two states');
    expect(stdout).toMatch(/fp8 +b6 +1\.00\d ms +75 % +1\.04\d ms +25 % +[34]\.\d+ % +10 and 9/);
  });

  test('every sweep is compared with itself, and with its neighbour', async () => {
    const { halves, neighbours, leftOut } = (await noise(db)).falseAlarms;
    expect(halves).toMatchObject({ comparisons: 36, cells: 12, cellComparisons: 432 });
    expect(neighbours).toMatchObject({ comparisons: 6, cells: 12, cellComparisons: 72 });
    expect([halves.calls, neighbours.calls, leftOut]).toEqual([0, 0, 0]);
    expect(halves.ofCells?.ciPercent[1]).toBeLessThan(1);
  });

  test('effort: fewer or more repeats, and GPU time from the stored times of runs', async () => {
    const { effort, cells } = await noise(db);
    const seconds = (runsOf: (cell: (typeof cells)[number]) => number): number =>
      cells.reduce((sum, cell) => sum + runsOf(cell) * (cell.wallS ?? 0), 0);
    expect(effort.cells).toBe(12);
    expect(effort.now).toEqual({ runs: 48, gpuMinutes: seconds(() => 4) / 60 });
    expect(effort.wanted.gpuMinutes).toBeCloseTo(seconds((cell) => cell.repeatsWanted ?? 0) / 60, 9);
    const strict = await noise(db, '--want', '0.6', 'batch=1');
    const loose = await noise(db, 'batch=1');
    expect(strict.effort.wanted.runs).toBeGreaterThan(loose.effort.wanted.runs);
    const hardest = await noise(db, '--want', '0.5');
    expect(hardest.effort.cells).toBe(0);
    expect(hardest.notes).toContain(
      'no number of runs detects 0.5 % in 12 cells: changes under 0.5 % are never reported; at best 0.51 % is detectable there',
    );
  });

  test('the first line says it in words', async () => {
    const { stdout } = await bench(['noise', '--db', db], { env: { COLUMNS: '250' } });
    const [first = ''] = stdout.split('\n');
    expect(first).toMatch(
      /^a change of \d\.\d+ % is detectable in a typical cell with 4 runs per side \(0\.\d+ to \d+(\.\d)? %\); 0 false alarms in 6 A\/A comparisons between sweeps of 12 cells \(at most 5\.0 % of cells, 95 %\)$/,
    );
    expect(stdout).toMatch(/to detect 2 % in every cell: \d+ runs a sweep instead of 48, \d+ min/);
  });

  test('names, --filter, --metric and --last choose what is looked at', async () => {
    const named = await noise(db, 'batch=4');
    expect(named.cells.map(({ label }) => label)).toEqual(['vit fp8 4x3x224x224 graph']);
    expect(named.falseAlarms.neighbours.cells).toBe(1);
    const filtered = await noise(db, '--filter', 'precision=fp16', '--metric', 'throughputQps');
    expect(filtered.cells).toHaveLength(6);
    expect(new Set(filtered.cells.map(({ metric }) => metric))).toEqual(new Set(['throughputQps']));
    const short = await noise(db, '--last', '3');
    expect([short.sweeps, short.falseAlarms.halves.comparisons]).toEqual([3, 9]);
    expect(short.notes.join('\n')).toContain('too little data: 1 comparison cannot');
    expect(short.cells.every(({ nightPercent }) => nightPercent === null)).toBe(true);
  });

  test('twice the same bytes', async () => {
    for (const more of [[], ['--json']]) {
      const [a, b] = await Promise.all(
        [0, 1].map(() => bench(['noise', ...more, '--db', db]).then(({ stdout }) => stdout)),
      );
      expect(b).toBe(a);
    }
  });

  test.each([40, 60, 100])('nothing is wider than %i columns', async (columns) => {
    const { stdout } = await bench(['noise', '--db', db], { env: { COLUMNS: String(columns) } });
    expect(stdout.split('\n').filter((line) => stringWidth(line) > columns)).toEqual([]);
    expect(stdout).toContain('in two states');
  });

  test.each([
    [['--want', '0.4'], 'from 0.5 on'],
    [['--want', 'much'], 'from 0.5 on'],
    [['--metric', 'engineMib'], 'a build has one engine size'],
    [['no such cell'], 'no cell no such cell'],
    [['--last', '0'], 'must be a whole number'],
  ])('%j is one line', async (args, what) => {
    const { code, stdout, stderr } = await bench(['noise', ...args, '--db', db]);
    expect([code, stdout, stderr.trimEnd().split('\n').length]).toEqual([2, '', 1]);
    expect(stderr).toContain(what);
  });
});

test('nights that differ by more than their runs are told apart from noisy runs', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const normal = normals(43);
  const levels = Array.from({ length: 14 * CELLS.length }, () => 0.02 * normal());
  simulateNights(db, {
    cells: CELLS,
    nights: 14,
    repeats: 4,
    value: (cell, night) => Math.exp((levels[night * 12 + cell] ?? 0) + 0.001 * normal()),
  });
  const { cells, falseAlarms, notes } = await noise(db);
  expect(cells.map(({ larger }) => larger)).toEqual(cells.map(() => 'nights'));
  for (const { runPercent, nightPercent } of cells) {
    expect(nightPercent ?? 0).toBeGreaterThan(5 * (runPercent ?? 1));
  }
  expect(falseAlarms.neighbours.calls).toBeGreaterThan(10);
  expect(falseAlarms.halves.calls).toBeLessThan(5);
  expect(notes.join('\n')).toContain('more false alarms than the 3 % of matrices');
  expect(notes.join('\n')).toContain('12 cells of 12: sweeps differ by more than the runs in them');
});

test('a rebuilt engine and a new driver are not the same as before', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const normal = normals(44);
  simulateNights(db, {
    cells: CELLS.slice(0, 3),
    nights: 4,
    repeats: 2,
    value: () => Math.exp(0.002 * normal()),
    build: (night) => (night < 2 ? 'b1' : 'b2'),
    driver: (night) => (night === 3 ? '590.1' : '580.1'),
  });
  const { falseAlarms } = await noise(db);
  expect([falseAlarms.halves.comparisons, falseAlarms.neighbours.comparisons]).toEqual([0, 1]);
});

test('one run a cell: what is missing is said', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  simulateNights(db, { cells: CELLS, nights: 1, repeats: 1, value: (cell) => 1 + cell });
  const { code, stdout } = await bench(['noise', '--db', db]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^the noise of runs is not known yet/);
  const said = stdout.replaceAll('\n', ' ');
  expect(said).toContain('at least 4 repeats in a sweep');
  expect(said).toContain('12 cells with fewer than two runs in the newest sweep');
  expect(said).toContain('needs at least 8 sweeps');
  expect(await noise(db)).toMatchObject({
    repeats: null,
    mdePercent: null,
    falseAlarms: { halves: { comparisons: 0, ofCells: null }, neighbours: { comparisons: 0, ofCells: null } },
    effort: { cells: 0 },
  });
});

test('names from outside are printable', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const evil = '\u001b[31mred\u202e\nnext';
  const cells = CELLS.slice(0, 2).map((cell) => ({ ...cell, model: evil }));
  const normal = normals(45);
  const value = (_: number, night: number): number => Math.exp(0.001 * normal()) * (night % 2 === 0 ? 1 : 1.1);
  simulateNights(db, { cells, nights: 14, repeats: 4, branch: null, value });
  for (const more of [[], ['--json']]) {
    const { code, stdout } = await bench(['noise', ...more, '--db', db]);
    expect(code).toBe(0);
    for (const line of stdout.split('\n')) expect(printable(line)).toBe(line);
  }
});

describe('without results', () => {
  test('an empty store, and none at all', async () => {
    const folder = temporaryFolder();
    const none = await bench(['noise', '--db', join(folder, 'none.sqlite')]);
    expect([none.code, none.stdout]).toEqual([2, '']);
    const db = join(folder, 'bench.sqlite');
    simulateNights(db, { cells: [], nights: 0, repeats: 0, value: () => null });
    const empty = await bench(['noise', '--db', db]);
    expect([empty.code, empty.stdout]).toEqual([2, '']);
    expect(empty.stderr).toContain('the store is empty');
  });

  test('only failed runs', async () => {
    const db = join(temporaryFolder(), 'bench.sqlite');
    simulateNights(db, { cells: CELLS, nights: 3, repeats: 4, value: () => null });
    const { cells, notes } = await noise(db);
    expect(cells.map(({ runs }) => runs)).toEqual(CELLS.map(() => 0));
    expect(notes.join('\n')).toContain('12 cells with fewer than two runs');
  });
});

describe('on recorded runs', () => {
  let db: string;

  beforeAll(async () => {
    db = join(sharedFolder(), 'bench.sqlite');
    for (let time = 0; time < 2; time += 1) {
      const { code, stderr } = await bench(['run', join(MATRICES, 'quickstart-pair.yaml'), '--db', db]);
      if (code !== 0) throw new Error(stderr);
    }
  });

  test('five runs of two cells: no false alarm, and a change of under one percent is detectable', async () => {
    const { falseAlarms, mdePercent, repeats, effort } = await noise(db);
    expect(falseAlarms.halves).toMatchObject({ comparisons: 3, cells: 2, calls: 0 });
    expect(repeats).toBe(5);
    expect(mdePercent?.most).toBeLessThan(1);
    expect(effort.now).toEqual({ runs: 10, gpuMinutes: null });
  });

  test('the same recordings twice count once', async () => {
    const { sweeps, cells, notes } = await noise(db);
    expect([sweeps, cells.map(({ runs }) => runs)]).toEqual([1, [5, 5]]);
    expect(notes[0]).toBe('1 sweep with the same recorded runs as an earlier one left out');
    expect(notes.join('\n')).toContain('how long they took on the GPU is not known here');
  });
});

describe('three builds of the same engine', () => {
  async function measured(unluckyPercent: string): Promise<string> {
    const folder = temporaryFolder();
    const db = join(folder, 'bench.sqlite');
    const env = {
      STUB_JOURNAL: join(folder, 'journal'),
      STUB_NOISE: JSON.stringify({ when: '--loadEngine', percent: 0.3 }),
      STUB_UNLUCKY_PERCENT: unluckyPercent,
    };
    const matrix = stubMatrix(folder, ['builds: 3', 'repeats: 3', 'seed: 7']);
    const args = ['run', matrix, '--trtexec', STUB, '--db', db, '--no-telemetry'];
    const { code, stderr } = await bench(args, { env });
    if (code !== 0) throw new Error(stderr);
    return db;
  }

  test('the second is 4 % slower and has another kernel', async () => {
    const db = await measured('4');
    const { builds, notes } = await noise(db);
    expect(builds).toMatchObject([
      { builds: 3, runs: 9, differ: true, kernels: { kinds: 2, layers: 2, otherKernels: 1 } },
      { builds: 3, runs: 9, differ: true, kernels: { kinds: 2, layers: 2, otherKernels: 1 } },
    ]);
    for (const { buildPercent, pValue, runPercent } of builds) {
      // Of the logarithms 0, ln 1.04, 0: ln 1.04 / sqrt(3) = 2.26 %.
      expect(buildPercent).toBeGreaterThan(1.8);
      expect(buildPercent).toBeLessThan(2.8);
      expect(runPercent).toBeGreaterThan(0.1);
      expect(runPercent).toBeLessThan(0.6);
      expect(pValue).toBeLessThan(0.001);
    }
    expect(notes.join('\n')).toContain('2 of 2 cells: builds of the same engine differ by more');
    const { stdout } = await bench(['noise', '--db', db]);
    expect(stdout).toContain('2 cells with several builds of the same engine');
    expect(stdout).toMatch(/precision .*\n.* b1 .* yes +1 of 2 differ/);
  }, 60_000);

  test('all alike: nothing is called different, and kernels without names are not known', async () => {
    const { builds, notes } = await noise(await measured('0'));
    expect(builds).toMatchObject([
      { builds: 3, runs: 9, differ: false, kernels: null },
      { builds: 3, runs: 9, differ: false, kernels: null },
    ]);
    expect(notes.join('\n')).not.toContain('builds of the same engine');
  }, 60_000);
});

test('a real change between two sweeps is no false alarm, whether the history or a finding says so', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const normal = normals(12);
  simulateNights(db, {
    cells: CELLS,
    nights: 30,
    repeats: 4,
    // The newest pair of sweeps has a step in four other cells, too young for a history.
    value: (cell, night) =>
      0.5 *
      Math.exp(
        0.002 * normal() + (night >= 11 && cell % 2 === 0 ? 0.05 : 0) + (night >= 29 && cell % 3 === 1 ? 0.05 : 0),
      ),
  });
  const before = await noise(db);
  expect(before.falseAlarms).toMatchObject({ leftOut: 6, neighbours: { comparisons: 15, alarmed: 1, calls: 4 } });
  expect(before.notes).toContain('6 cells left out between two sweeps, because a real change lies there');
  const { stdout } = await bench(['noise', '--db', db], { env: { COLUMNS: '300' } });
  expect(stdout).toMatch(
    /^[^;]+; 4 false alarms in 15 A\/A comparisons between sweeps of 12 cells \(2\.3 % of cells; [\d.]+ to \d+ %, 95 %; 6\.7 % of matrices\)\n/,
  );
  const store = openStore(db, join(ROOT, 'migrations'));
  const finding = (cell: number, state: Finding['state']): Finding => ({
    findingId: cell.toString(16).repeat(32),
    kind: 'change',
    isWarning: false,
    provenance: 'simulated',
    branch: null,
    matrix: 'nightly',
    direction: 'slower',
    state,
    group: [],
    lasts: null,
    cause: null,
    environmentChanges: [],
    pairs: null,
    lastGoodSweepId: sweepOfNight(28),
    firstBadSweepId: sweepOfNight(29),
    lastBadSweepId: null,
    reportedSweepId: sweepOfNight(29),
    owner: null,
    cells: [
      {
        cellKey: CELLS[cell]?.key ?? '',
        metric: 'gpuComputeMs',
        changePercent: 5,
        ciPercent: null,
        margin: 2,
        before: 0.5,
        after: 0.525,
      },
    ],
  });
  saveVerdict(store.db, {
    judged: { sweepId: sweepOfNight(29), judgedAt: '2026-02-01T00:00:00.000Z', judgedBy: 'reference', failedCells: 0 },
    findings: [finding(1, 'open'), finding(4, 'open'), finding(7, 'recovered')],
    retracted: [],
    endedAcknowledgements: [],
  });
  store.close();
  const { falseAlarms } = await noise(db);
  expect(falseAlarms).toMatchObject({ leftOut: 8, neighbours: { calls: 2, cellComparisons: 172 } });
});

test('what is detectable is what a comparison of two of the nights says', async () => {
  const store = join(temporaryFolder(), 'bench.sqlite');
  const normal = normals(91);
  const levels = Array.from({ length: 6 * 40 }, () => 0.003 * normal());
  simulateNights(store, {
    cells: simulatedCells(40),
    nights: 6,
    repeats: 5,
    value: (cell, night) => Math.exp((levels[40 * night + cell] ?? 0) + 0.002 * normal()),
  });
  const found = await noise(store);
  const { stdout } = await bench(['compare', '--json', '--db', store]);
  const { cells }: { cells: { mdePercent: number }[] } = JSON.parse(stdout);
  const said = cells.map(({ mdePercent }) => mdePercent).toSorted((a, b) => a - b)[20] ?? 0;
  const ratio = (found.mdePercent?.typical ?? 0) / said;
  expect(ratio).toBeGreaterThan(0.7);
  expect(ratio).toBeLessThan(1.4);
  expect(found.effort.cells).toBeLessThan(40);
});

test('a change that sweeps hide is detected by no number of runs, and what is detectable at best is said', async () => {
  const db = join(temporaryFolder(), 'bench.sqlite');
  const normal = normals(47);
  const cells = simulatedCells(30);
  const levels = Array.from({ length: 8 * 30 }, () => 0.003 * normal());
  simulateNights(db, {
    cells,
    nights: 8,
    repeats: 4,
    value: (cell, night) => Math.exp((levels[night * 30 + cell] ?? 0) + 0.001 * normal()),
  });
  const strict = await noise(db, '--want', '0.6');
  expect(strict.cells.map(({ repeatsWanted }) => repeatsWanted)).toEqual(cells.map(() => null));
  const [least = 0] = strict.cells.map(({ attainablePercent }) => attainablePercent ?? 0);
  expect(least).toBeGreaterThan(0.8);
  expect(least).toBeLessThan(strict.mdePercent?.typical ?? 0);
  const note = strict.notes.find((text) => text.startsWith('no number of runs')) ?? '';
  const said =
    /^no number of runs detects 0\.6 % in 30 cells: sweeps differ by too much; at best ([\d.]+) % is detectable there$/;
  expect(note).toMatch(said);
  const [, percent = ''] = said.exec(note) ?? [];
  expect(Number(percent)).toBeGreaterThan(least);
  const { cells: seen, notes } = await noise(db, '--want', String(Number(percent) * 1.1));
  expect(seen.filter(({ repeatsWanted }) => repeatsWanted === null)).toEqual([]);
  expect(notes.join('\n')).not.toContain('no number of runs');
  const { stdout } = await bench(['noise', '--want', '0.6', '--db', db]);
  expect(stdout.match(/ never$/gm)?.length).toBe(24);
});
