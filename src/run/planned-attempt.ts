import type { RunManifest } from '../artefacts/run-manifest.ts';
import type { PlannedHarness, PlannedLimits } from '../records/plan.ts';

/** One process that is to be run, and what its `run.json` will say besides what happened. */
export interface Attempt {
  readonly runId: string;
  /** For a person. */
  readonly label: string;
  readonly args: readonly string[];
  /** The program where it is another than trtexec; its arguments are `args`. */
  readonly harness: PlannedHarness | null;
  /** Variables that stand on an axis; null takes one away. */
  readonly env: Readonly<Record<string, string | null>>;
  /** For the whole process, where `limits` leave it open. */
  readonly timeoutS: number;
  readonly limits: PlannedLimits;
  /** Counts from 0; recordings of the same cell are answered in turn. */
  readonly index: number;
  readonly manifest: Partial<RunManifest>;
  /** Looks at what the process left, before it is judged. */
  readonly inspect?: () => Promise<Partial<RunManifest>>;
}
