import { describe, expect, it } from 'vitest';

import { judgeScene, type Scene, reported } from './simulate.ts';

const after = (quiet: number, ratio: number) => (cell: number, sweep: number) =>
  cell === 0 && sweep >= quiet ? ratio : 1;
const seeds = Array.from({ length: 8 }, (_, index) => index + 1);
const verdicts = (scene: ReturnType<typeof judgeScene>, cell = 0) => scene.map((sweep) => sweep[cell]?.verdict);

describe('a step that three runs show', () => {
  it.each([5, 12, 24, 60].flatMap((quiet) => [1.02, 1.05, 1.5, 2.93].map((ratio) => [quiet, ratio] as const)))(
    'is reported in its sweep after %i quiet ones: x %f',
    (quiet, ratio) => {
      for (const seed of seeds) {
        const judgement = judgeScene(quiet + 1, { seed, time: after(quiet, ratio) })[quiet]?.[0];
        expect(judgement).toMatchObject({ verdict: 'slower', reported: { direction: 'slower', first: quiet } });
        expect(judgement?.change.log).toBeCloseTo(Math.log(ratio), 1);
        expect(Math.abs((judgement?.change.log ?? 0) - Math.log(ratio))).toBeLessThan(
          6 * (judgement?.change.error ?? 0),
        );
      }
    },
  );

  it('is reported by the third sweep with one run: +3 %, runs scatter by .2 %', () => {
    const found = seeds.filter((seed) =>
      reported(judgeScene(15, { seed, repeats: 1, time: after(12, 1.03) }), 0).some((text) =>
        /^1[234] slower$/.test(text),
      ),
    );
    expect(found).toHaveLength(seeds.length);
  });
});

it('reports a further step on top of an open one, also in the next sweep', () => {
  const steps = (second: number): Scene => ({
    seed: 1,
    time: (cell, sweep) => (cell > 0 || sweep < 10 ? 1 : sweep < second ? 1.1 : 1.25),
  });
  expect(reported(judgeScene(30, steps(20)), 0)).toEqual(['10 slower', '20 slower']);
  expect(reported(judgeScene(20, steps(11)), 0)).toEqual(['10 slower', '11 slower']);
  const last = judgeScene(30, steps(20)).at(-1)?.[0];
  expect(last?.verdict).toBe('slower');
  expect(last?.change.log).toBeCloseTo(Math.log(1.25), 2);
  expect(last?.reference).toMatchObject({ sweeps: 10 });
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

it.each([3, 5, 1])('names two levels and is quiet after two reports of each: %i sweeps a visit', (visit) => {
  const isUpper = (sweep: number) => (visit === 1 ? sweep % 5 === 4 : sweep % (2 * visit) >= visit);
  const scene = judgeScene(60, { seed: 3, time: (cell, sweep) => (cell === 0 && isUpper(sweep) ? 1.8 : 1.6) });
  const slower = reported(scene, 0).filter((text) => text.endsWith('slower'));
  expect(slower.length).toBeLessThanOrEqual(2);
  expect(reported(scene, 0).filter((text) => Number(text.split(' ')[0]) > 25)).toEqual([]);
  const upper = scene.findLastIndex((_, sweep) => isUpper(sweep));
  expect(scene[upper]?.[0]).toMatchObject({ verdict: 'same' });
  expect(Math.exp(scene[upper]?.[0]?.levels?.[1] ?? 0)).toBeCloseTo(1.8, 1);
  expect(Math.exp(scene[upper]?.[0]?.levels?.[0] ?? 0)).toBeCloseTo(1.6, 1);
});

describe('what moves together', () => {
  const groups = (cell: number) => [cell % 2 === 0 ? 'int8' : 'fp16'];

  it('is reported of a group, also of half of all cells, and not of the others', () => {
    for (const seed of seeds) {
      const time = (cell: number, sweep: number) => (cell % 2 === 1 && sweep >= 10 ? 1.015 : 1);
      const scene = judgeScene(12, { seed, groups, time });
      expect(scene[10]?.map((cell) => cell?.reported?.direction ?? null)).toEqual(
        Array.from({ length: 12 }, (_, cell) => (cell % 2 === 1 ? 'slower' : null)),
      );
      expect(reported(scene, 0)).toEqual([]);
    }
  });

  it('is a shift where all cells do', () => {
    const scene = judgeScene(12, { seed: 4, groups, time: (_, sweep) => (sweep >= 10 ? 0.985 : 1) });
    for (const cell of scene[10] ?? []) {
      expect(cell?.reported).toMatchObject({ direction: 'faster' });
    }
  });
});

describe('the reference', () => {
  it('is where a slower cell comes back to', () => {
    const scene = judgeScene(30, {
      seed: 5,
      time: (cell, sweep) => (cell === 0 && sweep >= 10 && sweep < 20 ? 1.05 : 1),
    });
    expect(reported(scene, 0)).toEqual(['10 slower', '20 faster']);
    expect(verdicts(scene)).toEqual(Array.from({ length: 30 }, (_, at) => (at >= 10 && at < 20 ? 'slower' : 'same')));
  });

  it('is back after one sweep without a word', () => {
    const scene = judgeScene(14, { seed: 5, time: (cell, sweep) => (cell === 0 && sweep === 10 ? 1.05 : 1) });
    expect(reported(scene, 0)).toEqual(['10 slower']);
    expect(scene[11]?.[0]?.verdict).toBe('same');
  });

  it('moves down to a faster level of three sweeps, so that losing it is slower', () => {
    const time = (cell: number, sweep: number) => (cell === 0 && sweep >= 10 && sweep < 20 ? 0.9 : 1);
    const scene = judgeScene(24, { seed: 5, time });
    expect(verdicts(scene).slice(9, 14)).toEqual(['same', 'faster', 'faster', 'same', 'same']);
    expect(Math.exp(scene[12]?.[0]?.reference.log ?? 0)).toBeCloseTo(0.9, 2);
    expect(reported(scene, 0)).toEqual(['10 faster', '20 slower']);
    expect(scene[23]?.[0]?.verdict).toBe('slower');
  });

  it('moves up when somebody accepts', () => {
    const scene = judgeScene(20, {
      seed: 6,
      time: after(10, 1.05),
      controls: (cell, sweep) => (cell === 0 && sweep === 15 ? { accept: true } : null),
    });
    expect(reported(scene, 0)).toEqual(['10 slower']);
    expect(verdicts(scene).slice(10)).toEqual([...Array(5).fill('slower'), ...Array(5).fill('same')]);
  });

  it('keeps an excluded sweep out, which is slower all the same', () => {
    const time = (_: number, sweep: number) => (sweep === 10 ? 1.1 : 1);
    const scene = judgeScene(20, { seed: 7, time, controls: (_, sweep) => (sweep === 10 ? { exclude: true } : null) });
    expect(scene[10]?.every((cell) => cell?.verdict === 'slower')).toBe(true);
    expect(reported(scene, 0)).toEqual(['10 slower']);
    expect(verdicts(scene).slice(11)).toEqual(Array(9).fill('same'));
  });
});

it('is unclear about one run far off until a second sweep agrees', () => {
  const time = (length: number) => (cell: number, sweep: number) =>
    cell === 0 && sweep >= 8 && sweep < 8 + length ? 1.2 : 1;
  const once = judgeScene(10, { seed: 7, repeats: 1, time: time(1) });
  expect(reported(once, 0)).toEqual([]);
  expect(once[8]?.[0]).toMatchObject({ verdict: 'unclear', isOnlyRunFarOff: true });
  expect(once[9]?.[0]).toMatchObject({ verdict: 'same', isOnlyRunFarOff: false });
  const twice = judgeScene(10, { seed: 7, repeats: 1, time: time(2) });
  expect(twice[9]?.[0]?.reported).toMatchObject({ direction: 'slower', first: 8 });
});

it('reports nothing in quiet histories: 50 of 12 cells with 60 sweeps', () => {
  const alarmed = Array.from({ length: 50 }, (_, index) =>
    judgeScene(60, { seed: 1001 + index }).some((sweep) =>
      sweep.some((cell) => cell?.reported?.direction === 'slower'),
    ),
  );
  expect(alarmed.filter(Boolean).length).toBeLessThanOrEqual(3);
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
  const found = Array.from({ length: 100 }, (_, seed) =>
    judgeScene(quiet + 1, { seed: seed + 1, time: after(quiet, ratio) }),
  );
  const share = found.filter((scene) => scene[quiet]?.[0]?.reported).length / found.length;
  expect(share).toBeGreaterThan(0.8);
});

it('needs more evidence where more is judged together', () => {
  const detectable = (judgedTogether: number) =>
    judgeScene(20, { seed: 1, options: { judgedTogether } })[19]?.[0]?.detectable ?? 0;
  expect(detectable(12_000)).toBeGreaterThan(detectable(500));
  expect(detectable(500)).toBeGreaterThan(detectable(24));
  expect(detectable(12)).toBe(detectable(24));
});

it('has no judgement without a result, and begins where the first one is', () => {
  const scene = judgeScene(3, { seed: 1 });
  expect(scene[0]?.[0]).toMatchObject({ verdict: 'same', reported: null, reference: { sweeps: 1 } });
});
