/**
 * Do adaptive repeats save GPU time, and does looking again and again raise false alarms? A simulation of decision
 * rules, with made-up numbers from a seed: `node benchmarks/adaptive-repeats.ts [MATRICES] [SEED]`.
 *
 * Each matrix has 40 cells; run-to-run noise 0.1 to 1.5 % by cell; a fifth of the cells of two matrices in three change
 * by 0.8 % or two deviations or more. The base has five runs of each cell. Fixed: five runs of each on the other side.
 * Adaptive: two runs of each, then one more where `cellsToRepeat` says so, at most eight.
 */
import { cellsToRepeat, type Goal, type GrowingCell } from '../src/judge/adaptive-repeats.ts';
import { compareCells } from '../src/judge/compare/compare-cells.ts';
import { seededRandom } from '../src/matrix/plan/order.ts';

const CELLS = 40;
const BASE_RUNS = 5;

interface SimulatedCell {
  readonly key: string;
  readonly sigma: number;
  readonly change: number;
  readonly base: readonly number[];
  /** Runs of the other side, as many as anyone may ask for. */
  readonly head: readonly number[];
}

class Tally {
  runs = 0;
  hit = 0;
  falseCalls = 0;
  missed = 0;
  unchanged = 0;
  matricesWithoutChange = 0;
  alarmedMatrices = 0;

  get f1(): number {
    return (2 * this.hit) / (2 * this.hit + this.falseCalls + this.missed);
  }
}

function simulate(random: () => number, hasChanges: boolean): SimulatedCell[] {
  const normal = (): number => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
  const session = 0.001 * normal();
  return Array.from({ length: CELLS }, (_, index) => {
    const sigma = 0.001 * 15 ** random();
    const isChanged = hasChanges && random() < 0.2;
    const size = Math.max(0.008, 2 * sigma) * (1 + 2 * random());
    const change = isChanged ? size * (random() < 0.7 ? 1 : -1) : 0;
    const level = 0.2 + random();
    const runs = (count: number, shift: number): number[] =>
      Array.from({ length: count }, () => level * Math.exp(shift + sigma * normal()));
    return { key: String(index), sigma, change, base: runs(BASE_RUNS, 0), head: runs(20, change + session) };
  });
}

function growing(cells: readonly SimulatedCell[], made: ReadonlyMap<string, number>): GrowingCell[] {
  return cells.map(({ key, base, head }) => ({
    cellKey: key,
    base,
    head: head.slice(0, made.get(key) ?? 0),
    betterIs: 'lower',
    runS: 1,
  }));
}

/** Calls of one way of repeating: the key of each cell that is called, with its direction. */
type Calls = ReadonlyMap<string, string>;

function fixed(cells: readonly SimulatedCell[], runs: number): { calls: Calls; runs: number } {
  const made = new Map(cells.map(({ key }) => [key, runs]));
  return { calls: callsOf(growing(cells, made)), runs: runs * cells.length };
}

/** As `bench run --until-sure` or `--budget` repeats, and `bench compare` then looks once more. */
function adaptive(
  cells: readonly SimulatedCell[],
  start: number,
  most: number,
  goal: Goal,
): { calls: Calls; runs: number } {
  const made = new Map(cells.map(({ key }) => [key, start]));
  for (let look = 1; ; look += 1) {
    const more = cellsToRepeat(growing(cells, made), look, goal).open.filter((key) => (made.get(key) ?? 0) < most);
    if (more.length === 0) break;
    for (const key of more) made.set(key, (made.get(key) ?? 0) + 1);
  }
  const runs = [...made.values()].reduce((sum, count) => sum + count, 0);
  return { calls: callsOf(growing(cells, made)), runs };
}

function callsOf(cells: readonly GrowingCell[]): Calls {
  const called = compareCells(cells).cells.filter(({ verdict }) => verdict === 'slower' || verdict === 'faster');
  return new Map(called.map(({ cellKey, verdict }) => [cellKey, verdict]));
}

function score(tally: Tally, cells: readonly SimulatedCell[], result: { calls: Calls; runs: number }): void {
  tally.runs += result.runs;
  const hasChanges = cells.some(({ change }) => change !== 0);
  if (!hasChanges) {
    tally.matricesWithoutChange += 1;
    if (result.calls.size > 0) tally.alarmedMatrices += 1;
  }
  for (const { key, change } of cells) {
    const verdict = result.calls.get(key);
    const right = change > 0 ? 'slower' : 'faster';
    if (change === 0) tally.unchanged += 1;
    if (change !== 0 && verdict === right) tally.hit += 1;
    else {
      if (change !== 0) tally.missed += 1;
      if (verdict !== undefined) tally.falseCalls += 1;
    }
  }
}

const [matrices = 300, seed = 1] = process.argv.slice(2).map(Number);
const random = seededRandom(seed);
const by = (percent: number, deviations: number) => (cells: readonly SimulatedCell[]) =>
  adaptive(cells, 2, 8, { percent, deviations });
const ways = {
  'fixed, 3 runs': (cells: readonly SimulatedCell[]) => fixed(cells, 3),
  'fixed, 5 runs': (cells: readonly SimulatedCell[]) => fixed(cells, 5),
  'fixed, 8 runs': (cells: readonly SimulatedCell[]) => fixed(cells, 8),
  '--budget (0.8 % or 2 deviations)': by(0.8, 2),
  '--until-sure 0.8': by(0.8, 0),
  '--until-sure 1': by(1, 0),
  '--until-sure 2': by(2, 0),
};
const tallies = new Map(Object.keys(ways).map((name) => [name, new Tally()]));
for (let matrix = 0; matrix < matrices; matrix += 1) {
  const cells = simulate(random, matrix % 3 !== 0);
  for (const [name, way] of Object.entries(ways)) {
    const tally = tallies.get(name);
    if (tally !== undefined) score(tally, cells, way(cells));
  }
}
const per1000 = (count: number, of: number): string => ((1000 * count) / of).toFixed(2);
for (const [name, tally] of tallies) {
  process.stdout.write(
    `${name.padEnd(34)} runs ${String(tally.runs).padStart(7)}  F1 ${tally.f1.toFixed(3)}  false per 1000 unchanged ${per1000(tally.falseCalls, tally.unchanged)}  A/A matrices with an alarm ${tally.alarmedMatrices}/${tally.matricesWithoutChange}\n`,
  );
}
