export { ab } from './output.ts';
export { abReport, abText } from './report.ts';
