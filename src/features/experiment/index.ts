export { ab } from './report.ts';
export { abReport, abText } from './report.ts';
