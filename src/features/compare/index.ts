export { type Compared, compareReport } from './compare.ts';
export { comparison, type ComparedCell, type Comparison } from './output.ts';
export { compareText, lackText, sharedDifferences, shiftSize, shiftText, verdictLine } from './text.ts';
export type { TurnSide, TwoCommits } from './run/commit-side.ts';

/** Loaded only to measure, because most comparisons only read. */
export const inTurns = async () => import('./run/compare-run.ts');
