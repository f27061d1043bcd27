export { bencherJson } from './bencher.ts';
export { csvText } from './csv.ts';
export { githubAnnotations } from './github-annotations.ts';
export { googleBenchmarkJson } from './google-benchmark.ts';
export { junitXml } from './junit.ts';
export { markdownText } from './markdown.ts';
export { openMetricsText } from './open-metrics.ts';
export { type CellJudgement, type ReportedSweep, statusOf, uniqueNames, withoutBarred } from './reported-sweep.ts';
