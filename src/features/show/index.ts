export { shownSweep } from './output.ts';
export { sweepReport, sweepText } from './sweep-text.ts';
export { show } from './show.ts';
