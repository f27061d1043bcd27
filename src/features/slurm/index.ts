export { refuseSlurmOptions } from './refuse.ts';
export { runOnSlurm } from './run-on-slurm.ts';
