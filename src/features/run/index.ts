export { withinBudget } from './budget.ts';
export { type Enough, type GrowingRuns, undecided } from './more-runs.ts';
export { startSweep } from './run.ts';
export { search, showSearch } from './search/search-report.ts';

export type { SearchRequest } from './search/search-runs.ts';
