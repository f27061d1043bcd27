import { refuseSlurmOptions, runOnSlurm } from './run-on-slurm.ts';

export { submitted } from './output.ts';

export const slurmExecutor = { refuseOptions: refuseSlurmOptions, run: runOnSlurm };
