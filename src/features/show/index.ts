export { shownSweep } from './output.ts';
export { sweepText } from './sweep-text.ts';
export { shownSweepOf } from './swept.ts';
export { show } from './show.ts';
