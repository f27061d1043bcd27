import { refuseSlurmOptions, runOnSlurm } from './run-on-slurm.ts';

export { submitted } from './output.ts';

/** For `bench run --executor slurm`. */
export const slurmExecutor = { refuseOptions: refuseSlurmOptions, run: runOnSlurm };
