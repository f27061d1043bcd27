import { refuseSlurmOptions, runOnSlurm } from './run-on-slurm.ts';

export { submitted } from './text.ts';

export const slurmExecutor = { refuseOptions: refuseSlurmOptions, run: runOnSlurm };
