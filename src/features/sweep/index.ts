export { shownSweep } from './output.ts';
export { ratesOf, remediedBound, withBatch } from './remedies.ts';
export { type CellRow, sweepReport, sweepText } from './report.ts';
