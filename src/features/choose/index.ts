export { accuracyText, energyText, peakText, shareText } from './deployments.ts';
export type { ParetoOutput } from './output.ts';
export { paretoReport } from './pareto.ts';
export { intervalText, RATIO, speedUpText, tallyText } from './pareto-text.ts';
