import { availableParallelism } from 'node:os';

import { artefactsFolderOf } from '../artefacts/layout.ts';
import type { Plan } from '../records/plan.ts';
import type { Sweep } from '../records/sweep.ts';
import type { SweepContext } from './sweep-context.ts';
import type { ConverterPython } from '../variants/variants.ts';
import type { OpenStore } from '../store/file/open.ts';
import { RunWriter } from '../store/runs/save-run.ts';
import { variantsBeside } from '../variants/converter.ts';
import type { Io } from '../cli/io.ts';
import type { LaneContext } from './lane.ts';

/** All that no lane and no cache decides. */
export type SweepBeside = Omit<SweepContext, keyof LaneContext | 'cache' | 'mayChangeEngines' | 'onEvent'>;

/** What a sweep works with that writes to this store, and has no runs beyond its plan. */
export function sweepBeside(
  store: OpenStore,
  { plan, sweep }: { readonly plan: Plan; readonly sweep: Sweep },
  converter: ConverterPython | null,
  io: Io,
  onEvent: SweepContext['onEvent'],
): SweepBeside {
  return {
    db: store.db,
    writer: new RunWriter(store.db),
    storeFile: store.file,
    artefactsFolder: artefactsFolderOf(store.path),
    variants: converter === null ? null : variantsBeside(store.path, converter, io, onEvent),
    otherModel: null,
    cpuCount: availableParallelism(),
    signal: io.signal,
    now: io.now,
    sweep,
    plan,
    hasMoreRuns: false,
    againRuns: () => [],
    moreRuns: () => [],
  };
}
