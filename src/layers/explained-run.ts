import type { CellRun } from '../records/run.ts';
import type { CellInputs } from '../records/cell.ts';
import type { Environment } from '../records/environment.ts';
import type { RunTelemetry } from '../records/telemetry.ts';
import type { BuildId } from '../records/scalars.ts';

export interface EngineIdentity {
  readonly buildId: BuildId | null;
  readonly sha256: string | null;
  /** Path in the command line; the only identification of an engine that bench did not build. */
  readonly path: string | null;
  readonly modelSha256: string | null;
  /** Build flags without paths; null if the build is unknown. */
  readonly flags: readonly string[] | null;
}

/** One timed run with everything that may explain its number. Null: unknown. */
export interface ExplainedRun
  extends
    Pick<CellRun, 'boundBy' | 'flags' | 'outcome' | 'runId' | 'sweepId'>,
    Pick<CellRun['values'], 'gpuComputeMs' | 'latencyMs' | 'throughputQps' | 'enqueueMs'>,
    Pick<CellRun['values'], 'h2dMs' | 'd2hMs' | 'cvPercent' | 'gpuBusy'> {
  readonly gpuComputeMeanMs: number | null;
  readonly hints: readonly string[];
  readonly telemetry: RunTelemetry | null;
  readonly environment: Environment;
  readonly engine: EngineIdentity;
  /** Flags of the timed run without paths, exports and durations. */
  readonly runFlags: readonly string[];
  readonly inputs: CellInputs;
  /** Notes stated for an imported run; empty for others. Untrusted. */
  readonly importNotes: readonly string[];
}
