export { ab } from './output.ts';
export { abReport } from './report.ts';
export { abText } from './report.ts';
