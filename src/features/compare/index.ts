export { compareReport } from './compare.ts';
export { compareJson, shiftSize, shiftText } from './text.ts';
