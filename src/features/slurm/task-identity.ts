import { hostname } from 'node:os';

import type { EnvironmentVariables } from '../../process/environment-variables.ts';

/** Which attempt this process is, by what Slurm says in its environment. */
export interface TaskIdentity {
  readonly jobId: string;
  readonly restart: number;
  readonly arrayIndex: number | null;
  /** `8_3`; null outside an array. */
  readonly task: string | null;
  readonly node: string;
}

/** Null outside a job. */
export function taskIdentity(env: EnvironmentVariables): TaskIdentity | null {
  const jobId = env['SLURM_JOB_ID'] ?? '';
  if (!/^\d+$/.test(jobId)) return null;
  const array = env['SLURM_ARRAY_JOB_ID'] ?? '';
  const index = env['SLURM_ARRAY_TASK_ID'] ?? '';
  // The first attempt has no such variable.
  const restart = Number(env['SLURM_RESTART_COUNT'] ?? 0);
  return {
    jobId,
    restart: Number.isInteger(restart) && restart >= 0 ? restart : 0,
    arrayIndex: /^\d+$/.test(index) ? Number(index) : null,
    task: /^\d+$/.test(array) && /^\d+$/.test(index) ? `${array}_${index}` : null,
    node: env['SLURMD_NODENAME'] || hostname(),
  };
}
