export { describeCommit, sweepText } from './sweep-text.ts';
export { shownSweepOf } from './swept.ts';
export { cellsJson, cellsText, sweepsJson, sweepsText } from './text.ts';
export { show } from './show.ts';
