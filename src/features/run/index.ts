export { startSweep } from './run.ts';
export { sweepBeside } from './sweep-services.ts';
