export { paretoReport } from './pareto.ts';
export { choiceColumns, tallyText } from './pareto-text.ts';
