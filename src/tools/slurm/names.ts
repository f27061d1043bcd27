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

/** Nothing more will come of these by itself. */
export function isOver({ state }: Pick<ShardStatus, 'state'>): boolean {
  return state !== 'planned' && state !== 'queued' && state !== 'running';
}
