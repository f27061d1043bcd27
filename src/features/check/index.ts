export { checkReport } from './check.ts';
export { runsToMeasureAgain } from './measure-again.ts';
export { type Night, judgeNight, nightAt } from './night.ts';
export type { CheckedSweep } from './output.ts';
