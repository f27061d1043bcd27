export type { ExplainedStored, Profiler, Rung } from './next-step.ts';
export { fileName } from './steps.ts';
