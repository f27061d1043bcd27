import { expect, it } from 'vitest';

import { heavyTail } from '../../../src/judge/sweep/cell-noise.ts';
import { type Control, matrixJudge } from '../../../src/judge/sweep/matrix-judge.ts';
import { seededRandom } from '../../../src/matrix/plan/order.ts';
import { normals } from '../../support/simulated-store.ts';

interface Scene {
  readonly seed: number;
  readonly cells?: number;
  readonly repeats?: number;
  /** Sd of one run, as a log. */
  readonly runSd?: number | ((cell: number) => number);
  readonly sweepSd?: number;
  readonly groups?: (cell: number) => readonly string[];
  /** True time of a cell in a sweep, in ms; 1 unless said. */
  readonly time?: (cell: number, sweep: number) => number;
  readonly controls?: (cell: number, sweep: number) => Control | null;
  readonly judgedTogether?: number;
}

/** The judgements of each sweep, by sweep and cell. */
function judgeScene(sweeps: number, scene: Scene): readonly ReturnType<ReturnType<typeof matrixJudge>>[] {
  const { seed, cells = 12, repeats = 3, runSd = 0.002, sweepSd = 0.001, time = () => 1 } = scene;
  const normal = normals(seed);
  const places = Array.from({ length: cells }, (_, cell) => cell);
  const groups = places.map((cell) => scene.groups?.(cell) ?? []);
  const judge = matrixJudge(groups, scene.judgedTogether);
  return Array.from({ length: sweeps }, (_, sweep) => {
    const night = sweepSd * normal();
    const runs = places.map((cell) => {
      const sd = typeof runSd === 'number' ? runSd : runSd(cell);
      const center = Math.log(time(cell, sweep)) + night + (0.7 * sd * normal()) / Math.sqrt(repeats);
      return Array.from({ length: repeats }, () => Math.exp(center + sd * normal()));
    });
    const controls = places.map((cell) => scene.controls?.(cell, sweep) ?? null);
    return judge(runs, controls);
  });
}

/** Where something was reported of a cell: sweep, direction. */
function reported(scene: readonly ReturnType<ReturnType<typeof matrixJudge>>[], cell: number): string[] {
  return scene.flatMap((sweep, place) => {
    const found = sweep[cell]?.reported;
    return found ? [`${place} ${found.direction}`] : [];
  });
}

const after = (quiet: number, ratio: number) => (cell: number, sweep: number) =>
  cell === 0 && sweep >= quiet ? ratio : 1;
const seeds = [1, 2, 3, 4];

it.each([
  [12, 1.03],
  [1, 1.15],
])('reports a step after %i sweeps of one run by its third sweep: x %f', (quiet, ratio) => {
  for (const seed of seeds) {
    const scene = judgeScene(quiet + 3, { seed, repeats: 1, time: after(quiet, ratio) });
    const found = reported(scene, 0);
    expect(found).toHaveLength(1);
    expect(Math.abs((scene.at(-1)?.[0]?.change.log ?? 0) - Math.log(ratio))).toBeLessThan(0.01);
    expect([0, 1, 2].map((late) => `${quiet + late} slower`)).toContain(found[0]);
  }
});

it.each([0.001, 0.002])('reports a creep of .01 a night by .05, and again: runs scatter by %f', (runSd) => {
  for (const seed of seeds) {
    const scene = judgeScene(40, {
      seed,
      runSd,
      time: (cell, sweep) => (cell > 0 ? 1 : 1.01 ** Math.max(0, sweep - 5)),
    });
    const places = reported(scene, 0).map((text) => Number(text.split(' ')[0]));
    expect(places[0]).toBeLessThanOrEqual(10);
    expect(places.length).toBeGreaterThan(3);
    expect(scene.at(-1)?.[0]?.verdict).toBe('slower');
  }
});

/** One cell whose first sweep is at 1. */
function judgeAlone(seed: number, sweepSd: number, time: (sweep: number) => number, sweeps: number) {
  const normal = normals(seed);
  const judge = matrixJudge([[]]);
  return Array.from({ length: sweeps }, (_, sweep) => {
    const center = (sweep === 0 ? 1 : time(sweep)) * (1 + sweepSd * normal());
    return judge([[0, 1, 2].map(() => center * (1 + 0.002 * normal()))])[0];
  });
}

it.each([61, 71])('does not take the creep of a young cell for its noise: seed %i', (seed) => {
  const last = judgeAlone(seed, 0.002, (sweep) => 1.01 + 0.004 * sweep, 30).at(-1);
  expect([last?.verdict, last?.reference.sweeps]).toEqual(['slower', 1]);
  expect(last?.change.log).toBeGreaterThan(0.1);
});

it('reports a number when a cell has crept up and back to its reference', () => {
  const time = (sweep: number) => (sweep < 12 ? 1.02 + 0.004 * sweep : Math.max(1, 1.064 - 0.004 * (sweep - 11)));
  for (const seed of seeds) {
    const judged = judgeAlone(seed, 0, time, 40);
    expect(judged.flatMap((one) => one?.reported?.change.log ?? []).filter(Number.isNaN)).toEqual([]);
    expect(judged.at(-1)?.verdict).toBe('same');
  }
});

it.each([3, 5, 1])('names two levels and is quiet after two reports of each: %i sweeps a visit', (visit) => {
  const isUpper = (sweep: number) => (visit === 1 ? sweep % 5 === 4 : sweep % (2 * visit) >= visit);
  const scene = judgeScene(60, { seed: 3, time: (cell, sweep) => (cell === 0 && isUpper(sweep) ? 1.8 : 1.6) });
  expect(reported(scene, 0).filter((text) => text.endsWith('slower')).length).toBeLessThanOrEqual(2);
  expect(reported(scene, 0).filter((text) => Number(text.split(' ')[0]) > 25)).toEqual([]);
  const upper = scene.findLastIndex((_, sweep) => isUpper(sweep));
  expect(scene[upper]?.[0]).toMatchObject({ verdict: 'same' });
  expect(Math.exp(scene[upper]?.[0]?.levels?.[1] ?? 0)).toBeCloseTo(1.8, 1);
  expect(Math.exp(scene[upper]?.[0]?.levels?.[0] ?? 0)).toBeCloseTo(1.6, 1);
});

it('reports 10 % in the second sweep of two cells, from two runs each', () => {
  const judge = matrixJudge([[], []]);
  const first = [0.3363, 0.3377].map((ms) => [ms, 1.002 * ms]);
  judge(first);
  const [a, b] = judge(first.map((runs) => runs.map((run) => 1.1 * run)));
  expect([a?.verdict, b?.verdict]).toEqual(['slower', 'slower']);
});

it('reports a group, also of half of all cells, and not the others', () => {
  const groups = (cell: number) => [cell % 2 === 0 ? 'int8' : 'fp16'];
  for (const seed of seeds) {
    const time = (cell: number, sweep: number) => (cell % 2 === 1 && sweep >= 10 ? 1.015 : 1);
    const scene = judgeScene(12, { seed, groups, time });
    expect(scene[10]?.map((cell) => cell?.reported?.direction ?? null)).toEqual(
      Array.from({ length: 12 }, (_, cell) => (cell % 2 === 1 ? 'slower' : null)),
    );
    expect(reported(scene, 0)).toEqual([]);
  }
});

it('moves the reference down to a faster level of three sweeps, so that losing it is slower', () => {
  const time = (cell: number, sweep: number) => (cell === 0 && sweep >= 10 && sweep < 20 ? 0.9 : 1);
  const scene = judgeScene(24, { seed: 5, time });
  expect(scene.slice(9, 14).map(([cell]) => cell?.verdict)).toEqual(['same', 'faster', 'faster', 'same', 'same']);
  expect(Math.exp(scene[12]?.[0]?.reference.log ?? 0)).toBeCloseTo(0.9, 2);
  expect([reported(scene, 0), scene[23]?.[0]?.verdict]).toEqual([['10 faster', '20 slower'], 'slower']);
});

it('is unclear about one run far off until a second sweep agrees, after an earlier accident a third', () => {
  const sceneOf = (slow: readonly number[]) =>
    judgeScene(11, { seed: 7, repeats: 1, time: (cell, sweep) => (cell === 0 && slow.includes(sweep) ? 1.2 : 1) });
  const once = sceneOf([8]);
  expect([reported(once, 0), once[8]?.[0]]).toMatchObject([[], { verdict: 'unclear', farRuns: 1 }]);
  expect(once[9]?.[0]).toMatchObject({ verdict: 'same', farRuns: 0 });
  expect(sceneOf([8, 9])[9]?.[0]?.reported).toMatchObject({ direction: 'slower', first: 8 });
  const again = sceneOf([3, 8, 9, 10]);
  expect(again[9]?.[0]).toMatchObject({ verdict: 'unclear', reported: null });
  expect(again[10]?.[0]?.reported).toMatchObject({ direction: 'slower', first: 8 });
});

it('judges runs that form two groups by the mean of all', () => {
  const judge = matrixJudge([[]]);
  const judgements = [[[1, 1.5, 1, 1.5]], [[1, 1.5, 1, 1.5]]].map((runs) => judge(runs)[0]);
  expect(judgements[1]).toMatchObject({ verdict: 'same', change: { log: 0 } });
});

it('reports nothing in quiet histories: 20 of 12 cells with 60 sweeps', () => {
  const alarmed = Array.from({ length: 20 }, (_, index) =>
    judgeScene(60, { seed: 1001 + index }).some((sweep) =>
      sweep.some((cell) => cell?.reported?.direction === 'slower'),
    ),
  );
  expect(alarmed.filter(Boolean).length).toBeLessThanOrEqual(1);
});

it('has intervals that leave 0 out where it is slower, also in young cells', () => {
  const cells = [1, 2, 3, 10].flatMap((quiet) =>
    judgeScene(quiet + 3, {
      seed: quiet,
      time: (cell, sweep) => (sweep >= quiet && cell < 3 ? 1.01 + 0.01 * cell : 1),
    }),
  );
  const slower = cells.flat().filter((cell) => cell?.verdict === 'slower');
  expect(slower.length).toBeGreaterThan(15);
  expect(slower.filter((cell) => (cell?.change.log ?? 0) <= (cell?.change.reach ?? 0))).toEqual([]);
});

it('says what it would report nine times in ten', () => {
  const quiet = 20;
  const detectable = judgeScene(quiet, { seed: 1 })[quiet - 1]?.[0]?.detectable ?? 0;
  expect(detectable).toBeGreaterThan(0.002);
  const ratio = Math.exp(detectable);
  const found = Array.from({ length: 50 }, (_, seed) =>
    judgeScene(quiet + 1, { seed: seed + 1, time: after(quiet, ratio) }),
  );
  expect(found.filter((scene) => scene[quiet]?.[0]?.reported).length / found.length).toBeGreaterThan(0.8);
});

it('needs more evidence where more is judged together', () => {
  const detectable = (judgedTogether: number) => judgeScene(20, { seed: 1, judgedTogether })[19]?.[0]?.detectable ?? 0;
  expect(detectable(12_000)).toBeGreaterThan(detectable(500));
  expect(detectable(500)).toBeGreaterThan(detectable(24));
  expect(detectable(12)).toBe(detectable(24));
});

/** Steps of a known number of sds of one sweep in a third of the cells, 2 to 5 runs, sds over a factor of 16. */
function score(matrices: number, sweeps: number) {
  const counts = { falsely: 0, sweeps: 0, large: [0, 0, 0], middle: [0, 0, 0] };
  for (let seed = 1; seed <= matrices; seed += 1) {
    const next = seededRandom(seed * 7919);
    const repeats = [2, 3, 5][seed % 3] ?? 3;
    const cells = Array.from({ length: 12 }, (_, cell) => {
      const sd = 0.0005 * 16 ** next();
      const unit = Math.hypot((sd * Math.hypot(1, 0.7)) / Math.sqrt(repeats), 0.001);
      const z = cell < 4 ? 6 + 14 * next() : 0;
      return { sd, z, at: 3 + Math.floor(next() * (sweeps - 6)), ratio: Math.exp(z * unit) };
    });
    const scene = judgeScene(sweeps, {
      seed,
      repeats,
      runSd: (cell) => cells[cell]?.sd ?? 0,
      time: (cell, sweep) => (sweep >= (cells[cell]?.at ?? 0) ? (cells[cell]?.ratio ?? 1) : 1),
    });
    for (const [index, { z, at }] of cells.entries()) {
      const places = scene.flatMap((judgements, sweep) => (judgements[index]?.reported ? [sweep] : []));
      const first = places.find((place) => z > 0 && place >= at);
      counts.falsely += places.filter((place) => place !== first).length;
      counts.sweeps += sweeps;
      if (z === 0) continue;
      const row = z > 10 ? counts.large : counts.middle;
      row[0] = (row[0] ?? 0) + 1;
      if (first === at) row[1] = (row[1] ?? 0) + 1;
      if (first !== undefined && first <= at + 2) row[2] = (row[2] ?? 0) + 1;
    }
  }
  return counts;
}

it('reports steps in their sweep and by the third, and little else', () => {
  const { falsely, sweeps, large, middle } = score(24, 30);
  const share = (row: readonly number[], column: number) => (row[column] ?? 0) / (row[0] ?? 1);
  expect(share(large, 1)).toBeGreaterThan(0.97);
  expect(share(large, 2)).toBeGreaterThan(0.99);
  expect(share(middle, 1)).toBeGreaterThan(0.75);
  expect(share(middle, 2)).toBeGreaterThan(0.9);
  expect((1000 * falsely) / sweeps).toBeLessThan(0.5);
});

it('reports at most one of 10,000 quiet cell-sweeps where 2,000 cells are judged together', () => {
  const normal = normals(5);
  const sds = Array.from({ length: 2000 }, () => Math.exp(-6.5 + 0.6 * normal()));
  const scene = judgeScene(10, { seed: 11, cells: 2000, runSd: (cell) => sds[cell] ?? 0.001 });
  expect(scene.flat().filter((cell) => cell?.reported).length).toBeLessThanOrEqual(2);
});

// scipy.stats.t.sf(numpy.array([.5, 1.5, 4, 8]) * sqrt(5 / 3), 5) * 2
it.each([
  [0.5, 5.47054328e-1],
  [1.5, 1.10566691e-1],
  [4, 3.5728263e-3],
  [8, 1.46409476e-4],
])('tail of t with 5 degrees and variance 1 at %f', (x, p) =>
  expect(Math.abs(heavyTail(x) / p - 1)).toBeLessThan(1e-3),
);

it.each([
  [1, 'same', 0],
  [2, 'unclear', 2],
])('with %i of 5 runs 30 %% slower than the others, a cell is %s', (far, verdict, farRuns) => {
  const judge = matrixJudge([[]]);
  const runs = [1, 1.002, 0.999, 1.001, 0.998];
  for (let sweep = 0; sweep < 6; sweep += 1) judge([runs]);
  const [cell] = judge([runs.map((run, place) => (place < far ? 1.3 : run))]);
  expect(cell).toMatchObject({ verdict, farRuns, reported: null });
});

it('learns that single runs are on either of two levels: few sweeps are then called', () => {
  let called = 0;
  for (let seed = 1; seed <= 20; seed += 1) {
    const [random, normal] = [seededRandom(seed), normals(seed)];
    const judge = matrixJudge(Array.from({ length: 12 }, () => []));
    const run = (cell: number): number => (cell === 0 && random() < 0.5 ? 1.08 : 1) * Math.exp(0.002 * normal());
    for (let sweep = 0; sweep < 40; sweep += 1) {
      const [judged] = judge(Array.from({ length: 12 }, (_, cell) => [run(cell), run(cell), run(cell)]));
      if (judged?.verdict === 'slower' || judged?.verdict === 'faster') called += 1;
    }
  }
  // Without the rule 131 of 800.
  expect(called).toBeLessThanOrEqual(70);
});

it('takes the step and return of three of five cells for theirs, not for an effect of the sweep', () => {
  for (const seed of seeds) {
    const time = (cell: number, sweep: number): number => (sweep === 1 && [0, 1, 3].includes(cell) ? 1.1 : 1);
    const scene = judgeScene(4, { seed, cells: 5, repeats: 5, runSd: 0.001, time });
    const first = [0, 1, 2, 3, 4].map((cell) => reported(scene, cell)[0] ?? '');
    expect(first).toEqual(['1 slower', '1 slower', '', '1 slower', '']);
    const [, moved, back] = scene.map((sweep) => sweep.map((one) => one?.change.log ?? NaN));
    expect(Math.abs((moved?.[0] ?? 0) - Math.log(1.1))).toBeLessThan(0.006);
    expect(Math.max(...(back ?? []).map(Math.abs))).toBeLessThan(0.006);
  }
});

it('counts a slower level from its own first sweep, not from that of a faster one before it', () => {
  for (const seed of seeds) {
    const time = (_: number, sweep: number): number => [1, 1, 1, 0.94, 1.05, 1.05][sweep] ?? 1;
    const scene = judgeScene(6, { seed, cells: 1, time });
    expect(scene.slice(3).map(([one]) => one?.since)).toEqual([3, 4, 4]);
  }
});
