export { compareReport, readSides } from './compare.ts';
export { comparison, type ComparedCell, type Comparison } from './output.ts';
export { compareText, shiftSize, shiftText } from './text.ts';
