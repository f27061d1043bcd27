import { cpus, hostname, release, type } from 'node:os';

import type { Environment } from '../domain/environment.ts';
import { firstVisibleGpu, queryGpus } from '../run/gpu-query.ts';
import type { TrtexecProgram } from '../run/trtexec-program.ts';
import type { Io } from './io.ts';

/** What is known of the machine before anything runs. Recordings say it of the machine that they were made on. */
export async function machineOf(
  program: TrtexecProgram,
  io: Io,
): Promise<{ environment: Partial<Environment>; note: string | null }> {
  if (program.recordings !== null) {
    return { environment: program.recordings.environment, note: null };
  }
  const host = { host: hostname(), cpu: cpus()[0]?.model ?? null, os: `${type()} ${release()}` };
  const query = await queryGpus(io.env);
  if (query.kind === 'none') return { environment: host, note: query.note };
  return { environment: { ...host, ...firstVisibleGpu(query.gpus, io.env) }, note: null };
}
