import type { CachedEngine, EngineCache } from '../engines/engine-cache.ts';
import type { ProcessFacts } from '../machine/host-facts.ts';
import type { Spawn } from '../process/spawn.ts';
import type { Environment } from '../records/environment.ts';
import type { Outcome } from '../records/outcome.ts';
import type { Plan, PlannedBuild, PlannedRun, PlannedVariant } from '../records/plan.ts';
import type { PlannedPairs } from '../records/gated-metric.ts';
import type { RunRecord } from '../records/run.ts';
import type { Sweep } from '../records/sweep.ts';
import type { RunWatch } from './run-watch.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import type { StoreFile } from '../store/file/store-file.ts';
import type { RunWriter } from '../store/runs/save-run.ts';
import type { TrtexecProgram } from '../trtexec/program/find-trtexec.ts';
import type { ConvertedNodes } from '../records/conversion.ts';
import type { VariantContext } from '../variants/variants.ts';
import type { RunId } from '../records/scalars.ts';
import type { UnfitRounds } from './unfit-rounds.ts';

/** Everything that a sweep uses on one GPU. Clock, process and store are arguments, so that tests can replace them. */
export interface SweepContext {
  readonly db: StoreDatabase;
  readonly writer: RunWriter;
  readonly storeFile: StoreFile;
  readonly artefactsFolder: string;
  readonly cache: EngineCache;
  /** Makes variants of base models; null if the plan has none, and for recordings. */
  readonly variants: VariantContext | null;
  readonly program: TrtexecProgram;
  /** Null for recordings, and if the GPU is unknown. */
  readonly gpu: { readonly label: string; readonly uuid: string } | null;
  /** Model of this GPU if it differs from that of the first worker, so that its engines also differ. */
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
  /** Of the process that runs; null for recordings. */
  readonly processFacts: ProcessFacts | null;
  /** Watches the machine during each run; null to disable that. */
  readonly watch: RunWatch | null;
  /** The next runs beyond the plan, computed from the store; empty if there are enough. */
  readonly moreRuns: () => readonly PlannedRun[];
  /** Ends the sweep after a whole round of unfit runs; null to disable that. */
  readonly unfitRounds: UnfitRounds | null;
  /** Measures slower cells in pairs with their last good engines; null to disable that. */
  readonly suspects: SuspectPairs | null;
  readonly onEvent: (event: SweepEvent) => void;
  readonly onNote: (text: string) => void;
}

/** A side that takes turns on each GPU: a single sweep, or one of two. */
export interface Side {
  /** One worker for each GPU, in the order of the other sides. */
  readonly workers: readonly [SweepContext, ...SweepContext[]];
  /** Prepares the machine before each build and run. */
  readonly beforeRun?: (() => Promise<void>) | undefined;
}

export interface Turn {
  readonly side: Side;
  readonly run: PlannedRun;
  /** The existing engine of a run in a pair; cold if other engines were loaded before it. */
  readonly pair?: { readonly engine: CachedEngine; readonly isCold: boolean };
  /** The GPU first cools down to this temperature in degrees Celsius. */
  readonly coolToC?: number | undefined;
}

/** Chooses what to measure in pairs after the runs of a sweep. */
export interface SuspectPairs {
  /** Everything chosen so far, including new choices; empty if nothing is slower. */
  readonly decide: () => Promise<readonly PlannedPairs[]>;
  /** @param byGpu pairs for each worker of the side */
  readonly rounds: (side: Side, byGpu: readonly (readonly PlannedPairs[])[]) => AsyncIterable<readonly Turn[]>;
}

interface SweepEvents {
  variantStarted: { variant: PlannedVariant };
  variantReady: { variant: PlannedVariant; how: 'made' | 'cached'; wallS: number | null; converted: ConvertedNodes };
  /** `folder` has its log; null if nothing ran. */
  variantFailed: { variant: PlannedVariant; problem: string; folder: string | null };
  buildStarted: { build: PlannedBuild };
  buildReady: { build: PlannedBuild; how: 'built' | 'cached' | 'frozen' | 'given'; buildS: number | null };
  /** `runId` is null if nothing ran. */
  buildFailed: { build: PlannedBuild; outcome: Outcome; runId: RunId | null };
  runStarted: { run: PlannedRun };
  runDone: {
    run: PlannedRun;
    record: Pick<RunRecord, 'harness' | 'outcome' | 'runId' | 'wallS'> & { log: Pick<RunRecord['log'], 'measurement'> };
  };
  /** Repeats of unfit runs after the plan. */
  measuredAgain: { runs: readonly PlannedRun[] };
  /** Runs beyond the plan, because the results do not suffice. */
  moreRuns: { runs: readonly PlannedRun[] };
  runSkipped: { run: PlannedRun };
  runKept: { run: PlannedRun };
  /** A GPU failed repeatedly, so that its runs, including those that failed, go to the other GPUs. */
  gpuTakenOut: { failures: number; failed: readonly PlannedRun[]; moved: readonly PlannedRun[] };
  note: { text: string };
}

export type SweepEvent = {
  [Kind in keyof SweepEvents]: Readonly<SweepEvents[Kind]> & { readonly kind: Kind };
}[keyof SweepEvents];

export interface SweepCounts {
  readonly measured: number;
  readonly unfit: number;
  readonly failed: number;
  readonly skipped: number;
  readonly kept: number;
  /** Unfit runs that were measured again. */
  readonly replaced: number;
}
