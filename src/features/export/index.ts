export { csvText } from './csv.ts';
export { githubAnnotations, markdown, markdownText } from './github.ts';
export { bencherJson, googleBenchmarkJson } from './json-reports.ts';
export { junitXml } from './junit.ts';
export { openMetricsText } from './open-metrics.ts';
export {
  type CellJudgement,
  type ReportedGate,
  type ReportedSweep,
  statusOf,
  uniqueNames,
  withoutIneligible,
} from './reported-sweep.ts';
