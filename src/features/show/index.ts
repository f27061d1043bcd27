export { shownSweep } from './output.ts';
export { sweepText } from './sweep-text.ts';
export { shownSweepOf, summariesOf } from './swept.ts';
export { show } from './show.ts';
