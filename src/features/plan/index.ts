export { matrixOfSweep, placesOf } from './prepare.ts';
export { plan } from './plan.ts';
export {
  type PrepareOptions,
  type Prepared,
  type Trial,
  filterCells,
  type ModelsNeeded,
  prepare,
  requestedCells,
  readMatrix,
} from './prepare.ts';
