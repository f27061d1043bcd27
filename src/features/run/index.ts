export { withinBudget } from './more-runs.ts';
export { startSweep } from './run.ts';
export { showSearch } from './search/search-report.ts';
export { searchSchema as search, type SearchRequest } from './search/search-runs.ts';
export type { Executor } from './command.ts';
