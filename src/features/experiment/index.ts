export { ab, abReport, abText } from './report.ts';
