export type { ParetoOutput } from './output.ts';
export { paretoReport } from './pareto.ts';
export { choiceColumns, tallyText } from './pareto-text.ts';
