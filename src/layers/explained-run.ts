import type { CellRun } from '../records/run.ts';
import type { CellInputs } from '../records/cell.ts';
import type { Environment } from '../records/environment.ts';
import type { RunTelemetry } from '../records/telemetry.ts';

/** The engine that a run loaded, as far as anybody stated it. */
export interface EngineIdentity {
  readonly buildId: string | null;
  readonly sha256: string | null;
  /** As the command line names it; the only trace where somebody else built it. */
  readonly path: string | null;
  readonly modelSha256: string | null;
  /** Build flags without paths; null where its build is not known. */
  readonly flags: readonly string[] | null;
}

/** One timed run with everything that may explain its number. Null: not known. */
export interface ExplainedRun extends Pick<CellRun, 'flags' | 'outcome' | 'runId' | 'sweepId'> {
  readonly gpuComputeMs: number | null;
  readonly gpuComputeMeanMs: number | null;
  readonly latencyMs: number | null;
  readonly throughputQps: number | null;
  readonly enqueueMs: number | null;
  /** Null when transfers were off. */
  readonly h2dMs: number | null;
  readonly d2hMs: number | null;
  readonly cvPercent: number | null;
  /** Share of the wall time in which the GPU computed; for one stream only. */
  readonly gpuBusy: number | null;
  readonly hints: readonly string[];
  readonly telemetry: RunTelemetry | null;
  readonly environment: Environment;
  readonly engine: EngineIdentity;
  /** Flags of the timed run without paths, exports and lengths. */
  readonly runFlags: readonly string[];
  readonly inputs: CellInputs;
}
