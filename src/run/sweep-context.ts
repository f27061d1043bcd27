import type { CachedEngine, EngineCache } from '../engines/engine-cache.ts';
import type { LoadedLibrary } from '../machine/host-facts.ts';
import type { Spawn } from '../process/spawn.ts';
import type { BoundBy } from '../records/bound.ts';
import type { Environment } from '../records/environment.ts';
import type { MetricId } from '../records/metric.ts';
import type { Outcome } from '../records/outcome.ts';
import type { Plan, PlannedBuild, PlannedRun, PlannedVariant } from '../records/plan.ts';
import type { PlannedPairs } from '../records/gated-metric.ts';
import type { Sweep } from '../records/sweep.ts';
import type { RunWatch } from './run-watch.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import type { StoreFile } from '../store/file/store-file.ts';
import type { RunWriter } from '../store/runs/save-run.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import type { ConvertedNodes } from '../records/conversion.ts';
import type { VariantContext } from '../variants/variants.ts';
import type { RunId, SweepId } from '../records/scalars.ts';
import type { UnfitRounds } from './unfit-rounds.ts';

/** All that a sweep uses on one GPU. Clock, process and store are arguments, so that tests can replace them. */
export interface SweepContext {
  readonly db: StoreDatabase;
  readonly writer: RunWriter;
  readonly storeFile: StoreFile;
  readonly artefactsFolder: string;
  readonly cache: EngineCache;
  /** Makes variants of base models; null if the plan has none, and for recordings. */
  readonly variants: VariantContext | null;
  readonly program: TrtexecProgram;
  /** Null for recordings, and if it is unknown. */
  readonly gpu: { readonly label: string; readonly uuid: string } | null;
  /** Model of this GPU where it is another than that of the first worker: then its engines are others, too. */
  readonly otherModel: string | null;
  readonly mayChangeEngines: boolean;
  readonly cpuCount: number;
  readonly spawn: Spawn;
  readonly signal: AbortSignal;
  readonly now: () => Date;
  readonly sweep: Sweep;
  readonly plan: Plan;
  /** Facts known before any run; logs add to them. */
  readonly environment: Partial<Environment>;
  /** Finds the TensorRT library that trtexec loads; null if no trtexec runs, as with recordings. */
  readonly library: LoadedLibrary | null;
  /** Watches the machine during each run; null when nobody shall. */
  readonly watch: RunWatch | null;
  /** Replacements for unfit runs; requested once, when the plan is done. */
  readonly againRuns: () => readonly PlannedRun[];
  /** The next runs beyond the plan, according to what is stored; empty if there is enough. */
  readonly moreRuns: () => readonly PlannedRun[];
  /** Ends the sweep after a whole round of unfit runs; null: nothing does. */
  readonly unfitRounds: UnfitRounds | null;
  /** Slower cells are measured in pairs with their last good engines; null: none are. */
  readonly suspects: SuspectPairs | null;
  readonly onEvent: (event: SweepEvent) => void;
}

/** What takes turns on each GPU: a sweep alone, or one of two. */
export interface Side {
  /** One for each GPU, in the order of the other sides. */
  readonly workers: readonly [SweepContext, ...SweepContext[]];
  /** Sets the machine up, before each build and run. */
  readonly beforeRun?: (() => Promise<void>) | undefined;
}

export interface Turn {
  readonly side: Side;
  readonly run: PlannedRun;
  /** Of a pair: an engine that is there already. */
  readonly pair?: PairEngine;
}

/** How one of two engines is run. */
export interface PairEngine {
  /** With the program that loads this engine. */
  readonly context: SweepContext;
  readonly engine: CachedEngine;
  /** Other engines were loaded before it. */
  readonly isCold: boolean;
}

/** Decides what is measured in pairs after the runs of a sweep. */
export interface SuspectPairs {
  /** All that was decided so far, with what is new; empty if nothing is slower. */
  readonly decide: () => Promise<readonly PlannedPairs[]>;
  /** @param byGpu what each worker of the side measures */
  readonly rounds: (side: Side, byGpu: readonly (readonly PlannedPairs[])[]) => AsyncIterable<readonly Turn[]>;
}

export interface ValueBefore {
  readonly value: number;
  readonly sweepId: SweepId;
}

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
      /** Folder of its log; null if nothing was run. */
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
      readonly runId: RunId | null;
    }
  | { readonly kind: 'runStarted'; readonly run: PlannedRun }
  | {
      readonly kind: 'runDone';
      readonly run: PlannedRun;
      readonly runId: RunId;
      readonly outcome: Outcome;
      readonly gpuComputeMs: number | null;
      readonly throughputQps: number | null;
      readonly boundBy: BoundBy | null;
      /** Reading of another harness, by the metric of the cell; null for trtexec. */
      readonly reading: { readonly metric: MetricId; readonly value: number } | null;
      /** The value in the previous sweep of the series that has the cell. */
      readonly before: ValueBefore | null;
      readonly wallS: number;
    }
  /** Repeats of unfit runs, after the plan is done. */
  | { readonly kind: 'measuredAgain'; readonly runs: readonly PlannedRun[] }
  /** Runs beyond the plan: the results so far are not enough. */
  | { readonly kind: 'moreRuns'; readonly runs: readonly PlannedRun[] }
  | { readonly kind: 'runSkipped'; readonly run: PlannedRun }
  | { readonly kind: 'runKept'; readonly run: PlannedRun }
  /** A GPU failed repeatedly: its runs, and those that failed on it, go to the other GPUs. */
  | {
      readonly kind: 'gpuTakenOut';
      readonly failures: number;
      readonly failed: readonly PlannedRun[];
      readonly moved: readonly PlannedRun[];
    }
  | { readonly kind: 'note'; readonly text: string };

export interface SweepCounts {
  readonly measured: number;
  readonly unfit: number;
  readonly failed: number;
  readonly skipped: number;
  readonly kept: number;
  /** Unfit runs that were measured again. */
  readonly replaced: number;
}
