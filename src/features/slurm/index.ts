export { runOnSlurm } from './run-on-slurm.ts';
export { submitted } from './text.ts';
