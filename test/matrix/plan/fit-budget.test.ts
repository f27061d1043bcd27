import { describe, expect, test } from 'vitest';

import { fitBudget, type TimeEstimates } from '../../../src/matrix/plan/assign-gpus.ts';
import { planOfCells } from '../../support/plans.ts';

const BUILT: Pick<TimeEstimates, 'buildS' | 'runS'> = { buildS: new Map([['engine', 0]]), runS: new Map() };

/** Six cells of ten seconds each, that do not belong together. */
const PLAN = planOfCells([1, 2, 3, 4, 5, 6].map((batch) => ({ batch, seconds: 10 })));
const KEYS = PLAN.cells.map(({ cell }) => cell.key);

function nights(...days: (number | null)[]): ReadonlyMap<string, string> {
  return new Map(
    days.flatMap((day, place): [string, string][] =>
      day === null ? [] : [[KEYS[place] ?? '', `2026-11-0${day}T01:00:00.000Z`]],
    ),
  );
}

function batchesOf({ cells }: typeof PLAN): number[] {
  return cells.map(({ cell }) => cell.shapes['input']?.[0] ?? 0);
}

describe('a plan is fitted to a time', () => {
  test('what was measured longest ago, or never, comes first', () => {
    const measuredAt = nights(3, 3, 1, 2, null, 3);
    const fitted = fitBudget(PLAN, 35, { ...BUILT, measuredAt }, 1);
    expect(batchesOf(fitted.plan)).toEqual([3, 4, 5]);
    expect(fitted.plan.runs).toHaveLength(3);
    expect(fitted.leftOutS).toBe(30);
  });

  test('night after night every cell gets its turn', () => {
    let measuredAt = new Map<string, string>();
    const turns = [1, 2, 3].map((day) => {
      const { plan } = fitBudget(PLAN, 25, { ...BUILT, measuredAt }, 1);
      const at = `2026-11-0${day}T01:00:00.000Z`;
      measuredAt = new Map([...measuredAt, ...plan.cells.map(({ cell }): [string, string] => [cell.key, at])]);
      return batchesOf(plan);
    });
    expect(turns).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
  });

  test('times of earlier runs go before what the plan expects, and builds count once', () => {
    const plan = planOfCells([
      { batch: 1, seconds: 10, engine: 'a' },
      { batch: 2, seconds: 10, engine: 'a' },
      { batch: 3, seconds: 10, engine: 'b' },
    ]);
    const [first = ''] = plan.cells.map(({ cell }) => cell.key);
    const estimates = { runS: new Map([[first, 4]]), buildS: new Map([['a', 30]]), measuredAt: nights() };
    // 30 + 4, then 10; the other engine was never built: a minute is taken for it.
    const fitted = fitBudget(plan, 50, estimates, 1);
    expect(batchesOf(fitted.plan)).toEqual([1, 2]);
    expect(fitted.plan.builds.map(({ buildRef }) => buildRef)).toEqual(['a']);
    expect(fitted.leftOutS).toBe(70);
  });

  test('two GPUs measure twice as much; one cell is measured in any case', () => {
    const estimates = { ...BUILT, measuredAt: nights() };
    expect(batchesOf(fitBudget(PLAN, 20, estimates, 2).plan)).toEqual([1, 2, 3, 4]);
    expect(batchesOf(fitBudget(PLAN, 1, estimates, 1).plan)).toEqual([1]);
  });
});
