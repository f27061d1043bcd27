import type { LabelledCell } from './labelled.ts';
import { type Rates, ratesOf, round } from './score.ts';

/** What a decider says of a cell: larger values, smaller ones, or no change that it would call. */
export type CellVerdict = 'larger' | 'smaller' | 'same' | 'unclear';

export interface CellScore extends Rates {
  /** False calls for each 1000 cells that did not change. */
  readonly falsePer1000: number;
  /** Matrices in which nothing changed and something was called, and all of them. */
  readonly quietAlarmed: readonly [number, number];
  readonly wrongDirection: number;
  readonly unclear: number;
}

/** Verdicts by the name of the cell. Only the right direction is right; unclear and same both miss a true change. */
export function scoreCells(truths: readonly LabelledCell[], verdicts: ReadonlyMap<string, CellVerdict>): CellScore {
  const judged = truths.map((truth) => {
    const verdict = verdicts.get(truth.cell) ?? 'same';
    return { truth, verdict, sign: signOf(verdict) };
  });
  const changed = judged.filter(({ truth }) => truth.rel !== 0);
  const unchanged = judged.filter(({ truth }) => truth.rel === 0);
  const hit = changed.filter(({ truth, sign }) => sign === Math.sign(truth.rel)).length;
  const wrongDirection = changed.filter(({ truth, sign }) => sign === -Math.sign(truth.rel)).length;
  const called = unchanged.filter(({ sign }) => sign !== 0).length;
  const moved = new Set(changed.map(({ truth }) => truth.matrix));
  const quiet = Map.groupBy(
    unchanged.filter(({ truth }) => !moved.has(truth.matrix)),
    ({ truth }) => truth.matrix,
  );
  const alarmed = [...quiet.values()].filter((cells) => cells.some(({ sign }) => sign !== 0));
  return {
    ...ratesOf(hit, called + wrongDirection, changed.length - hit),
    falsePer1000: unchanged.length === 0 ? 0 : round((1000 * called) / unchanged.length, 2),
    quietAlarmed: [alarmed.length, quiet.size],
    wrongDirection,
    unclear: judged.filter(({ verdict }) => verdict === 'unclear').length,
  };
}

function signOf(verdict: CellVerdict): -1 | 0 | 1 {
  if (verdict === 'larger') return 1;
  return verdict === 'smaller' ? -1 : 0;
}
