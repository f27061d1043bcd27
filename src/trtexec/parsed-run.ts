import type { HarnessReading } from '../records/harness.ts';
import type { Outcome } from '../records/outcome.ts';
import type { DerivedValues, RunExports } from './run-facts.ts';
import type { RunFlag } from '../records/run-flag.ts';
import type { RunTelemetry } from '../records/telemetry.ts';
import type { TrtexecRun } from './log/parsed-log.ts';

/** A run as the parser sees it, whoever asks: `bench parse`, an import, or a run that just ended. */
export interface ParsedRun {
  /** The folder or the log file that it was read from. */
  readonly path: string;
  readonly log: TrtexecRun;
  /** What another harness than trtexec measured; null for trtexec. */
  readonly harness: HarnessReading | null;
  readonly exports: RunExports;
  readonly derived: DerivedValues;
  readonly flags: readonly RunFlag[];
  /** Null when nobody watched the machine beside it. */
  readonly telemetry: RunTelemetry | null;
  readonly outcome: Outcome;
  readonly notes: readonly string[];
}
