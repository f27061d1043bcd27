export { paretoJson } from './pareto-text.ts';
export { paretoReport } from './pareto.ts';
