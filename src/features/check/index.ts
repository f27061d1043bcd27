export { checkedSweep } from './checked-series.ts';
export { changeText, directionText, groupText, levelText } from './change-text.ts';
export { causesOf, evidenceOf, firstOfEach, nextCommands, sizeText } from './finding-words.ts';
export { foundIn, isPresent, isShownWhole, type Standing } from './headline.ts';
export { type JudgedSweep, judgedSweep } from './judge-series.ts';
export { runsToMeasureAgain } from './measure-again.ts';
export type { CheckedFinding, CheckedSeries } from './output.ts';
export { latestSweep } from './series.ts';
