export { matrixOfSweep, placesOf } from './prepare.ts';
export { plan } from './plan.ts';
export {
  type PrepareOptions,
  type Prepared,
  type Trial,
  choose,
  filterCells,
  type ModelsNeeded,
  prepare,
  readMatrix,
} from './prepare.ts';
