export type { ParetoOutput } from './output.ts';
export { paretoReport } from './pareto.ts';
