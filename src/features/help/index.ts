export { metricText } from './metric-texts.ts';
