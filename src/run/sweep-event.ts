import type { MetricId } from '../records/metric.ts';
import type { Outcome } from '../records/outcome.ts';
import type { ConvertedNodes } from '../variants/conversion.ts';
import type { PlannedBuild, PlannedRun, PlannedVariant } from '../records/plan.ts';

export interface ValueBefore {
  readonly value: number;
  readonly sweepId: string;
}

/** What happens in a sweep, for whoever shows it. */
export type SweepEvent =
  | { readonly kind: 'variantStarted'; readonly variant: PlannedVariant }
  | {
      readonly kind: 'variantReady';
      readonly variant: PlannedVariant;
      readonly how: 'made' | 'cached';
      readonly wallS: number | null;
      readonly converted: ConvertedNodes;
    }
  | {
      readonly kind: 'variantFailed';
      readonly variant: PlannedVariant;
      readonly problem: string;
      /** Where its log lies; null when nothing was run. */
      readonly folder: string | null;
    }
  | { readonly kind: 'buildStarted'; readonly build: PlannedBuild }
  | {
      readonly kind: 'buildReady';
      readonly build: PlannedBuild;
      readonly how: 'built' | 'cached' | 'frozen' | 'given';
      readonly buildS: number | null;
      readonly engineBytes: number | null;
    }
  | {
      readonly kind: 'buildFailed';
      readonly build: PlannedBuild;
      readonly outcome: Outcome;
      readonly folder: string | null;
      /** Null when nothing was run. */
      readonly runId: string | null;
    }
  | { readonly kind: 'runStarted'; readonly run: PlannedRun }
  | {
      readonly kind: 'runDone';
      readonly run: PlannedRun;
      readonly runId: string;
      readonly outcome: Outcome;
      readonly gpuComputeMs: number | null;
      readonly throughputQps: number | null;
      /** What another harness says, by the metric of the cell; null for trtexec. */
      readonly reading: { readonly metric: MetricId; readonly value: number } | null;
      /** The same in the previous sweep of the series that has the cell. */
      readonly before: ValueBefore | null;
      readonly wallS: number;
    }
  /** Once more what the machine spoilt, after the plan is through. */
  | { readonly kind: 'measuredAgain'; readonly runs: readonly PlannedRun[] }
  /** A round beyond the plan: what was measured so far is not enough. */
  | { readonly kind: 'moreRuns'; readonly runs: readonly PlannedRun[] }
  /** Its engine could not be had: nothing was started. */
  | { readonly kind: 'runSkipped'; readonly run: PlannedRun }
  /** Stored already, by the sweep that is being resumed. */
  | { readonly kind: 'runKept'; readonly run: PlannedRun }
  /** It failed again and again: its runs, and once more those that failed on it, go to the other GPUs. */
  | {
      readonly kind: 'gpuTakenOut';
      readonly failures: number;
      readonly failed: readonly PlannedRun[];
      readonly moved: readonly PlannedRun[];
    }
  /** Something that goes on without, and that a person should know. */
  | { readonly kind: 'note'; readonly text: string };

export interface SweepCounts {
  readonly measured: number;
  readonly unfit: number;
  readonly failed: number;
  readonly skipped: number;
  readonly kept: number;
  /** Of the unfit ones those in whose place another run was measured. */
  readonly replaced: number;
}
