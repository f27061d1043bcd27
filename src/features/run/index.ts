export { startSweep } from './run.ts';
