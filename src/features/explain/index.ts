export { explainRun } from './explain-run.ts';
