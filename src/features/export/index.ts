export { githubAnnotations, markdownText } from './github.ts';
export { junitXml } from './junit.ts';
export { bencherJson, csvText, openMetricsText } from './metric-tables.ts';
export {
  type CellJudgement,
  NOT_JUDGED,
  type ReportedGate,
  type ReportedSweep,
  statusOf,
  uniqueNames,
  withoutIneligible,
} from './reported-sweep.ts';
