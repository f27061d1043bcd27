export { githubAnnotations, markdownText } from './github.ts';
export { junitXml } from './junit.ts';
export { bencherJson, csvText, openMetricsText } from './metric-tables.ts';
export { insideTimes, NOT_JUDGED, statusOf, uniqueNames, withoutIneligible } from './reported-sweep.ts';
export type { CellJudgement, ReportedGate, ReportedSweep } from './reported-sweep.ts';
