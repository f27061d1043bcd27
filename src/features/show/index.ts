export { describeCommit, sweepJson, sweepText } from './sweep-text.ts';
export { cellsJson, cellsText, sweepsJson, sweepsText } from './text.ts';
export { show } from './show.ts';
