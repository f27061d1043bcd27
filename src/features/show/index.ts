export { shownSweep } from './output.ts';
export { sweepText } from './sweep-text.ts';
export { sweepReport } from './swept.ts';
export { show } from './show.ts';
