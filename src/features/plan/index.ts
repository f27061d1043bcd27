export { plan } from './plan.ts';
export { type PrepareOptions, type Prepared, type Trial, filterCells, prepare, readMatrix } from './prepare.ts';
