export { fileName } from './steps.ts';
