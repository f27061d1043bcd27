import type { LayerProfile } from '../trtexec/log/parsed-log.ts';
import type { layer, OutputOf } from '../records/output-parts.ts';
import type { Shapes } from '../records/cell.ts';
import type { Provenance } from '../records/sweep.ts';
import type { CellKey, RunId, SweepId } from '../records/scalars.ts';
import type { Environment } from '../records/environment.ts';

/** One engine layer from profile and inspector. Times are null without a profile. */
export type JoinedLayer = OutputOf<typeof layer>;

/** What an engine ran on. */
export interface EngineConditions extends Pick<Environment, 'gpuName' | 'maxSmClockMhz' | 'mig'> {
  /** Measured while it ran. */
  readonly smClockMhz: number | null;
}

export interface ProfiledEngine {
  readonly ref: string;
  readonly runId: RunId;
  /** Null for files outside a store. */
  readonly sweepId: SweepId | null;
  /** Cell of the profile; null for files, and for builds, which belong to no single cell. */
  readonly cellKey: CellKey | null;
  readonly cellLabel: string | null;
  /** Launched as a CUDA graph; null where that is not known. */
  readonly cudaGraph: boolean | null;
  readonly provenance: Provenance;
  readonly startedAt: string | null;
  readonly layers: readonly JoinedLayer[];
  /** All layers of one query, if not all of them are listed. */
  readonly total?: LayerProfile['total'] | undefined;
  /** Null if nothing was timed: only names and kernels are known. */
  readonly iterations: number | null;
  /** Median GPU compute time without the profiler, of the same run or of the cell's timed runs. */
  readonly gpuComputeMs: number | null;
  readonly notes: readonly string[];
  /** Of files outside a store, which say it themselves. */
  readonly stated?: { readonly conditions: EngineConditions; readonly shapes: Shapes };
}
