import * as z from 'zod';

/** Which attempt of Slurm measured, and on what: said of attempts and of bundles. */
export const attemptFields = {
  planSha256: z.string(),
  jobId: z.string(),
  restart: z.number().int(),
  node: z.string(),
  gpuName: z.string().nullable(),
  gpuUuids: z.array(z.string()),
  driver: z.string().nullable(),
  exclusive: z.boolean(),
  startedAt: z.string(),
};
