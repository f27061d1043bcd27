import { flagOf } from '../../cli/options.ts';
import type { SlurmSettings } from '../../matrix/schema/slurm-schema.ts';
import type { EnvironmentVariables } from '../../process/environment-variables.ts';
import type { Immutable } from '../../records/scalars.ts';

/**
 * The script of every job, whose command line is passed as arguments, so nothing needs quotes. `exec` makes bench the
 * batch process, so that it receives Slurm's signals.
 */
export const JOB_SCRIPT = `#!/bin/bash
set -u; umask 022
exec "$@"
`;

/** Name of the script in the folder of a run. */
export const JOB_FILE = 'job.sh';

/**
 * Seconds before the time limit at which the worker gets its signal. A shorter time may be too late, because Slurm is
 * imprecise.
 */
const WARNING_S = 120;

/** Required variables, and variables that affect measurements. */
const EXPORTED = `PATH HOME USER LOGNAME LANG TZ SLURM_CONF LD_LIBRARY_PATH TRTEXEC BENCH_PYTHON BENCH_LOCK_DIR
  CUDA_DEVICE_ORDER CUDA_MODULE_LOADING CUDA_DEVICE_MAX_CONNECTIONS NVIDIA_TF32_OVERRIDE`.split(/\s+/);

interface Job {
  readonly name: string;
  readonly runFolder: string;
  /** A random word, by which a job is found again. */
  readonly token: string;
  /** Name of the log without its extension. */
  readonly log: string;
  readonly env: EnvironmentVariables;
}

/**
 * @param own options of this kind of job
 * @param command command line of the job
 */
export function sbatchArgs(
  settings: SlurmSettings,
  { env, log, name, runFolder, token }: Job,
  own: readonly string[],
  command: readonly string[],
): string[] {
  const { cluster, env: more = [] } = settings;
  const exported = [...EXPORTED, ...more].filter((variable) => env[variable] !== undefined);
  return [
    '--parsable',
    `--chdir=${runFolder}`,
    // An explicit list, because other variables of the submitting machine must not affect a benchmark.
    `--export=${[...new Set(exported)].join(',')}`,
    ...(cluster === undefined ? [] : [`--clusters=${cluster}`]),
    ...stated(settings, ['partition', 'account', 'qos', 'reservation', 'nice']),
    // Other tools show the name, so it has only letters, digits and a few signs.
    `--job-name=${name.replaceAll(/[^A-Za-z0-9._-]+/g, '_').slice(0, 60)}`,
    `--comment=${token}`,
    // sbatch expands `%` in file names.
    `--output=${runFolder.replaceAll('%', '%%')}/log/${log}.out`,
    // Otherwise the second attempt would truncate the log of the first.
    '--open-mode=append',
    // A site may disable requeueing by default.
    '--requeue',
    ...own,
    `${runFolder}/${JOB_FILE}`,
    ...command,
  ];
}

/**
 * Options for an array of tasks.
 * @param afterJob the job that must end first; undefined if none
 */
export function taskArgs(settings: SlurmSettings, chunk: ArrayChunk, afterJob: string | undefined): string[] {
  return [
    `--array=${arraySpec(chunk)}`,
    ...(afterJob === undefined ? [] : [`--dependency=afterany:${afterJob}`]),
    // In a container, srun forwards signals. A signal to the script alone would end it before its task receives the
    // signal.
    settings.container === undefined ? `--signal=B:TERM@${WARNING_S}` : `--signal=TERM@${WARNING_S}`,
    ...stated(settings, ['time', 'gres', 'gpusPerNode', 'cpusPerTask', 'mem', 'constraint', 'nodelist', 'exclude']),
    ...(settings.exclusive === false ? [] : ['--exclusive']),
    ...(settings.extraArgs ?? []),
  ];
}

/** Options such as `--gpus-per-node` for `gpusPerNode`. */
function stated(
  settings: SlurmSettings,
  names: readonly Exclude<keyof SlurmSettings, 'container' | 'env' | 'extraArgs'>[],
): string[] {
  return names.flatMap((name) => (settings[name] === undefined ? [] : [`${flagOf(name)}=${settings[name]}`]));
}

/**
 * How a task starts bench, possibly in a container. The options of Pyxis belong to srun.
 * @param program Node.js and the script of bench
 */
export function launcher({ container }: SlurmSettings, program: readonly string[]): string[] {
  if (container === undefined) return [...program];
  const { image, mounts = [], bench = 'bench' } = container;
  return [
    'srun',
    '--ntasks=1',
    `--container-image=${image}`,
    ...(mounts.length === 0 ? [] : [`--container-mounts=${mounts.join(',')}`]),
    '--no-container-mount-home',
    bench,
  ];
}

/** One job array. Its tasks count from 0, and the offset maps them to shards. */
type ArrayChunk = Immutable<ReturnType<typeof chunkShards>[number]>;

/**
 * Divides shards into arrays within Slurm's limit. A limit on concurrent tasks applies to each array alone, so that with
 * such a limit each array waits for the one before it.
 * @param maxTasks largest number of tasks in an array, whose indices start at 0
 */
export function chunkShards(shards: readonly number[], maxTasks: number, maxParallel: number | null) {
  const groups = [...Map.groupBy(shards, (shard) => Math.floor(shard / maxTasks))];
  return groups.map(([number, members]) => ({
    offset: number * maxTasks,
    shards: members,
    /** Maximum number of concurrent tasks; null for no limit. */
    parallel: maxParallel,
  }));
}

/** Returns `0-7%2` or `3,7,9-12`: the format of `sbatch --array`. */
export function arraySpec({ offset, parallel, shards }: ArrayChunk): string {
  const limit = parallel === null || parallel >= shards.length ? '' : `%${parallel}`;
  return `${rangesOf(shards.map((shard) => shard - offset))}${limit}`;
}

/** Returns `3,7,9-12`. */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: { from: number; to: number }[] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && number === last.to + 1) last.to = number;
    else ranges.push({ from: number, to: number });
  }
  return ranges.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}
