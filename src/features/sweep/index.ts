export { shownSweep } from './output.ts';
export { remediedBound } from './remedies.ts';
export { type CellRow, sweepReport, sweepText } from './report.ts';
