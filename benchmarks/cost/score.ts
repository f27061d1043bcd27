import { Random } from '../detection/random.ts';
import { type DrawnCell, drawMatrix } from './draw.ts';
import type { Visit } from './real-runs.ts';
import { type Answer, checked, fixed, untilSure, type Way } from './ways.ts';

const WAYS: ReadonlyMap<string, Way> = new Map([
  ...[1, 2, 3, 5, 8, 10].map((runs): [string, Way] => [`--repeats ${runs}, compare`, fixed(runs)]),
  ['--repeats 2 --until-sure 2, compare', untilSure(2, 2)],
  ['--repeats 2 --until-sure 1, compare', untilSure(2, 1)],
  ['--repeats 3 --until-sure 1, compare', untilSure(3, 1)],
  ...[2, 3, 5].map((runs): [string, Way] => [`--repeats ${runs}, check`, checked(runs, false)]),
  ['--repeats 2 --confirm, check', checked(2, true)],
  ['--repeats 3 --confirm, check', checked(3, true)],
]);

/** Sizes of a change. */
export const PERCENTS = [1, 2, 3, 5] as const;

/** Calls of cells, and the time of the GPU that they took. */
export class Tally {
  hit = 0;
  missed = 0;
  falseCalls = 0;
  unchanged = 0;
  private seconds = 0;

  add({ called, seconds }: Answer, { cell, isChanged }: DrawnCell): void {
    const verdict = called.get(cell.key);
    const isHit = isChanged && verdict === 'slower';
    this.hit += Number(isHit);
    this.missed += Number(isChanged && !isHit);
    this.unchanged += Number(!isChanged);
    this.falseCalls += Number(verdict !== undefined && !isHit);
    this.seconds += seconds.get(cell.key) ?? 0;
  }

  /** Of a cell, the mean. */
  get secondsACell(): number {
    return this.seconds / (this.hit + this.missed + this.unchanged);
  }

  get recall(): number {
    return this.hit / (this.hit + this.missed);
  }

  /** 1 where nothing is called. */
  get precision(): number {
    const called = this.hit + this.falseCalls;
    return called === 0 ? 1 : this.hit / called;
  }

  get f1(): number {
    return (2 * this.hit) / (2 * this.hit + this.falseCalls + this.missed);
  }
}

export interface Scored {
  readonly way: string;
  /** Matrices in which nothing changes, and those in which something does. */
  readonly quiet: Tally;
  readonly changed: Tally;
  /** All matrices with changes of that size, or none. */
  readonly byPercent: ReadonlyMap<number, Tally>;
}

/** Every way on the same matrices, for the cells with a CUDA graph or those without. */
export function score(visit: Visit, hasGraph: boolean, matrices: number, seed: number): Scored[] {
  const drawn = PERCENTS.flatMap((percent) => {
    const random = new Random(seed);
    return Array.from({ length: matrices }, () => ({ percent, cells: drawMatrix(visit, random, 1 + percent / 100) }));
  });
  return [...WAYS].map(([name, way]): Scored => {
    const scored = { quiet: new Tally(), changed: new Tally() };
    const byPercent = new Map<number, Tally>(PERCENTS.map((percent) => [percent, new Tally()]));
    for (const { cells, percent } of drawn) {
      const answer = way(cells);
      const tally = cells.some(({ isChanged }) => isChanged) ? scored.changed : scored.quiet;
      for (const one of cells.filter(({ cell }) => cell.cudaGraph === hasGraph)) {
        tally.add(answer, one);
        byPercent.get(percent)?.add(answer, one);
      }
    }
    return { way: name, ...scored, byPercent };
  });
}
