export { abReport } from './report.ts';
export { abJson, abText } from './text.ts';
