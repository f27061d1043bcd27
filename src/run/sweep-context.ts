import type { EngineCache } from '../engines/engine-cache.ts';
import type { LoadedLibrary } from '../machine/loaded-library.ts';
import type { Spawn } from '../process/spawn.ts';
import type { Environment } from '../records/environment.ts';
import type { MetricId } from '../records/metric.ts';
import type { Outcome } from '../records/outcome.ts';
import type { Plan, PlannedBuild, PlannedRun, PlannedVariant } from '../records/plan.ts';
import type { Sweep } from '../records/sweep.ts';
import type { RunWatch } from './run-watch.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import type { StoreFile } from '../store/file/store-file.ts';
import type { RunWriter } from '../store/runs/save-run.ts';
import type { TrtexecProgram } from '../trtexec/program/trtexec-program.ts';
import type { ConvertedNodes } from '../variants/conversion.ts';
import type { VariantContext } from '../variants/variants.ts';

interface WorkerGpu {
  /** `GPU 2`. */
  readonly label: string;
  readonly uuid: string;
}

/** Everything that a sweep works with on one GPU. Clock, process and store are arguments, so that a test can bring its own. */
export interface SweepContext {
  readonly db: StoreDatabase;
  readonly writer: RunWriter;
  readonly storeFile: StoreFile;
  readonly artefactsFolder: string;
  readonly cache: EngineCache;
  /** Makes variants of base models; null when the plan has none, and for recordings. */
  readonly variants: VariantContext | null;
  readonly program: TrtexecProgram;
  /** Null for recordings, and where nothing says which it is. */
  readonly gpu: WorkerGpu | null;
  /** Model of this GPU where it is another than that of the first worker: then its engines are others, too. */
  readonly otherModel: string | null;
  /** A resumed sweep may go on with other engines than it began with. */
  readonly mayChangeEngines: boolean;
  readonly cpuCount: number;
  readonly spawn: Spawn;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  readonly sweep: Sweep;
  readonly plan: Plan;
  /** What is known of the machine before any run; logs add to it. */
  readonly environment: Partial<Environment>;
  /** Looks which TensorRT library trtexec loads; null where no trtexec runs, as with recordings. */
  readonly library: LoadedLibrary | null;
  /** Watches the machine during each run; null when nobody shall. */
  readonly watch: RunWatch | null;
  /** True when runs beyond the plan may follow: every engine will be needed. */
  readonly hasMoreRuns: boolean;
  /** Runs in place of those that the machine spoilt; asked for once, when the plan is through. */
  readonly againRuns: () => readonly PlannedRun[];
  /** The next round of runs beyond the plan, by what is stored so far; none when it is enough. */
  readonly moreRuns: () => readonly PlannedRun[];
  readonly onEvent: (event: SweepEvent) => void;
}

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
