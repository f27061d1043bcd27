import type { Environment } from '../records/environment.ts';
import type { Plan, PlannedRun } from '../records/plan.ts';
import type { SweepEvent } from './sweep-event.ts';
import type { Sweep } from '../records/sweep.ts';
import type { EngineCache } from '../engines/engine-cache.ts';
import type { Spawn } from '../process/spawn.ts';
import type { TrtexecProgram } from '../trtexec/program/trtexec-program.ts';
import type { LoadedLibrary } from '../machine/loaded-library.ts';
import type { StoreDatabase } from '../store/file/open.ts';
import type { RunWriter } from '../store/runs/save-run.ts';
import type { StoreFile } from '../store/file/store-file.ts';
import type { RunWatch } from './run-watch.ts';
import type { VariantContext } from '../variants/variants.ts';

/** A GPU as a sweep knows it. */
export interface LaneGpu {
  /** `GPU 2`. */
  readonly label: string;
  readonly uuid: string;
}

/** Everything that a sweep works with on one GPU. Clock, process and store are arguments, so that a test can bring its own. */
export interface SweepContext {
  readonly db: StoreDatabase;
  readonly writer: RunWriter;
  /** Tells whether the store is still there. */
  readonly storeFile: StoreFile;
  readonly artefactsFolder: string;
  readonly cache: EngineCache;
  /** Makes variants of base models; null when the plan has none, and for recordings. */
  readonly variants: VariantContext | null;
  readonly program: TrtexecProgram;
  /** Null for recordings, and where nothing says which it is. */
  readonly gpu: LaneGpu | null;
  /** Model of this GPU where it is another than that of the first lane: then its engines are others, too. */
  readonly otherModel: string | null;
  /** A resumed sweep may go on with other engines than it began with. */
  readonly mayChangeEngines: boolean;
  /** CPUs of the machine. */
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
  /** Watches the machine beside each run; null when nobody shall. */
  readonly watch: RunWatch | null;
  /** True when runs beyond the plan may follow: every engine will be needed. */
  readonly hasMoreRuns: boolean;
  /** Runs in place of those that the machine spoilt; asked for once, when the plan is through. */
  readonly againRuns: () => readonly PlannedRun[];
  /** The next round of runs beyond the plan, by what is stored so far; none when it is enough. */
  readonly moreRuns: () => readonly PlannedRun[];
  readonly onEvent: (event: SweepEvent) => void;
}
