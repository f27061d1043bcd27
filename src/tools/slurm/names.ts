/** How work is handed to Slurm: `slurm:` of a matrix, a profile file, `--slurm KEY=VALUE`. */
export interface SlurmSettings {
  readonly partition?: string | undefined;
  readonly account?: string | undefined;
  readonly qos?: string | undefined;
  readonly reservation?: string | undefined;
  /** As `sbatch --time` takes it; a number is minutes. */
  readonly time?: string | number | undefined;
  readonly gres?: string | undefined;
  readonly gpusPerNode?: string | number | undefined;
  readonly cpusPerTask?: number | undefined;
  readonly mem?: string | undefined;
  readonly constraint?: string | undefined;
  readonly nodelist?: string | undefined;
  readonly exclude?: string | undefined;
  readonly exclusive?: boolean | undefined;
  readonly maxParallel?: number | undefined;
  readonly nice?: number | undefined;
  readonly cluster?: string | undefined;
  readonly container?: SlurmContainer | undefined;
  /** Names of environment variables that the jobs get as well. */
  readonly env?: readonly string[] | undefined;
  readonly extraArgs?: readonly string[] | undefined;
  readonly shardMinutes?: number | undefined;
  readonly tasksPerArray?: number | undefined;
  /** On the node's own disk: engines and variants. */
  readonly cacheFolder?: string | undefined;
}

export interface SlurmContainer {
  readonly image: string;
  readonly mounts?: readonly string[] | undefined;
  /** The program inside the image. */
  readonly bench?: string | undefined;
}

/** What one task does: cells that are compared with each other are in the same one. */
export interface Shard {
  readonly index: number;
  readonly cellKeys: readonly string[];
  readonly estimateS: number;
}

export const SHARD_STATES = ['planned', 'queued', 'running', 'done', 'failed', 'timeout', 'cancelled', 'lost'] as const;

export type ShardState = (typeof SHARD_STATES)[number];

/** What is known of one shard, and why. */
export interface ShardStatus {
  readonly shard: number;
  readonly state: ShardState;
  /** In a few words; empty for what needs none. */
  readonly reason: string;
  /** `123_4`, as Slurm names the task; null before it was submitted. */
  readonly task: string | null;
  readonly node: string | null;
  readonly restarts: number | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly log: string | null;
  readonly lastLines: readonly string[];
}

/** One job array that Slurm took. */
export interface SubmittedJob {
  readonly jobId: string;
  readonly cluster: string | null;
  readonly shards: readonly number[];
}

/** Nothing more will come of these by itself. */
export function isOver({ state }: Pick<ShardStatus, 'state'>): boolean {
  return state !== 'planned' && state !== 'queued' && state !== 'running';
}
