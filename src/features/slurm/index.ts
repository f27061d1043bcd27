export { refuseSlurmOptions } from './refuse.ts';
export { runOnSlurm, type SlurmRunOptions } from './run-on-slurm.ts';
