export { metricText } from './help.ts';
