export { checkReport } from './check.ts';
export { runsToMeasureAgain } from './measure-again.ts';
export { type Night, judgeNight, nightAt } from './night.ts';
export { checkJson } from './text.ts';
