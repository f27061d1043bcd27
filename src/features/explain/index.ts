export { explainOutput } from './output.ts';
export { explainRun } from './explain-run.ts';
