export { cellChart, type CellRow, cellRows, countsText, verdictText, worstFirst } from './cell-pictures.ts';
export { type CheckedSweep, checkedSweep, foundInAll, otherSeries, standingOf } from './checked.ts';
export { isPresent, isShownWhole, newFirst } from './findings.ts';
export { type JudgedSweep, judgedSweep, newestBatch } from './gather.ts';
export { type CheckedFinding, type CheckedSeries, shownFinding } from './output.ts';
export { changeText, firstOfEach, groupText, levelText, nextCommands, sentences } from './sentences.ts';
export { latestSweep } from './series.ts';
export { checkText, closingText, nameOf, showFinding } from './text.ts';
