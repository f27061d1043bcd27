import * as z from 'zod';

import { allOptional, type Immutable, matching, wholeFrom } from '../../records/scalars.ts';

/** Excludes characters that could break a line or an argument list. */
const name = matching(/^[\w.,-]+$/);
const nodes = matching(/^[\w.,[\]-]+$/);
// oxlint-disable-next-line no-control-regex -- these end lines and strings
const line = matching(/^[^\u0000-\u001f\u007f]+$/);

/** Options that the executor sets, or that would conflict with those. */
const OWNED = `array chdir clusters comment dependency error export job-name kill-on-invalid-dep no-requeue
  open-mode output parsable requeue signal wait wrap`.split(/\s+/);

/** sbatch accepts unambiguous prefixes of long options, and short options with an attached value. */
function isOwnedBySlurmExecutor(arg: string): boolean {
  const long = /^--([\w-]+)/.exec(arg)?.[1];
  if (long === undefined) return /^-[aDMdeoJW]/.test(arg);
  return long.startsWith('export') || OWNED.some((owned) => owned.startsWith(long));
}

const extraArg = z
  .string()
  // oxlint-disable-next-line no-control-regex -- as above
  .regex(/^(?:--[\w-]+(?:=[^\u0000-\u001f\u007f]*)?|-\w[^\u0000-\u001f\u007f]*)$/)
  .refine((arg) => !isOwnedBySlurmExecutor(arg), { error: 'bench sets this option itself' });

const container = z
  .strictObject({
    image: line.describe('registry#repository:tag, or a .sqsh file on the shared file system'),
    mounts: z
      .array(matching(/^\/[^\s,:]*(?::\/[^\s,:]*(?::[\w+]+)?)?$/))
      .describe('/on/the/node:/in/the/container')
      .optional(),
    bench: line.describe('The program inside the image. Default: bench').optional(),
  })
  .describe('Run inside a container, with pyxis');

export const slurmSchema = allOptional({
  partition: name,
  account: name,
  qos: name,
  reservation: name,
  time: z
    .union([wholeFrom(1), matching(/^(?:\d+-)?\d+(?::\d\d){0,2}$/)])
    .describe('Time limit of one shard: minutes, or in the format of sbatch --time'),
  gres: matching(/^[\w.:,/-]+$/).describe('Such as gpu:1; some sites want gpusPerNode instead'),
  gpusPerNode: z.union([wholeFrom(1), matching(/^(?:\w+:)?\d+$/)]),
  cpusPerTask: wholeFrom(1),
  mem: matching(/^\d+[KMGT]?$/).describe('Such as 64G'),
  constraint: matching(/^[\w.:&|!*()[\],=-]+$/),
  nodelist: nodes,
  exclude: nodes,
  exclusive: z.boolean().describe('No other job on the node: neighbors share PCIe, CPU and power. Default: true'),
  maxParallel: wholeFrom(1).describe('Maximum number of shards at once'),
  nice: z.number().int(),
  cluster: name,
  container: container,
  env: z.array(matching(/^[A-Za-z_]\w*$/)).describe('Names of environment variables to pass to the jobs'),
  extraArgs: z.array(extraArg).describe('Other options of sbatch, one in each entry, such as --licenses=trt:1'),
  shardMinutes: z.number().gt(0).describe('Approximate time that one task measures. Default: 15'),
  tasksPerArray: wholeFrom(1).describe('Maximum number of tasks of one job array. Default: what Slurm allows'),
  cacheFolder: matching(/^\/[^\n]*$/).describe("Engines and variants, on each node's own disk. Default: below $TMPDIR"),
}).describe('Settings of `bench run --executor slurm`');

/** Settings from `slurm:` of a matrix, a profile file, or `--slurm KEY=VALUE`. */
export type SlurmSettings = Immutable<z.infer<typeof slurmSchema>>;
