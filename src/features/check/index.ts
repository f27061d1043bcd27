export { cellChart, type CellRow, cellRows, countsText, verdictText, worstFirst } from './cell-pictures.ts';
export { type CheckedSweep, checkedSweep, foundInAll, newestChecked, standingOf } from './checked.ts';
export { isPresent, isShownWhole, newFirst } from './findings.ts';
export { judgeAgain, type JudgedSweep, judgedSweep, judgeSeries, newestBatch } from './gather.ts';
export { type CheckedFinding, type CheckedSeries, shownFinding } from './output.ts';
export { changeText, firstOfEach, groupText, levelText, nextCommands, sentences } from './sentences.ts';
export { checkText, closingText, nameOf, showFinding } from './text.ts';
