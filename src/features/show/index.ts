export { shownSweep } from './output.ts';
export { describeCommit, sweepText } from './sweep-text.ts';
export { shownSweepOf } from './swept.ts';
export { show } from './show.ts';
