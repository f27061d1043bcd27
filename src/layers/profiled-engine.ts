import type { layer, OutputOf } from '../records/output-parts.ts';
import type { Provenance } from '../records/sweep.ts';

/** One engine layer with what the profile and the inspector say of it. Times are null without a profile. */
export type JoinedLayer = OutputOf<typeof layer>;

/** The layers of one engine as some run saw them. */
export interface ProfiledEngine {
  /** What was asked for, in words. */
  readonly ref: string;
  readonly runId: string;
  /** Null for files that are in no store. */
  readonly sweepId: string | null;
  /** Of the cell that the profile was taken of; null for files, and for builds, which belong to no single cell. */
  readonly cellKey: string | null;
  readonly cellLabel: string | null;
  readonly provenance: Provenance;
  readonly startedAt: string | null;
  readonly layers: readonly JoinedLayer[];
  /** Of one query and all layers, where not all of them are listed. */
  readonly totalMs?: number;
  /** Null when nothing was timed: then only names and kernels are known. */
  readonly iterations: number | null;
  /** Mean GPU compute time without the profiler, of the same run or of the cell's timed runs. */
  readonly gpuComputeMs: number | null;
  /** What makes these times less than they seem. */
  readonly notes: readonly string[];
}
