export { compareReport, readSides, type SidesRead } from './compare.ts';
export type { ComparedCell, Comparison } from './output.ts';
export { shiftSize, shiftText } from './text.ts';
