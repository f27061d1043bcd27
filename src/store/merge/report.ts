import * as z from 'zod';

import { count } from '../../records/output-parts.ts';
import type { SweepId } from '../../records/scalars.ts';

export const mergedRows = z.strictObject({
  sweeps: count,
  runs: count,
  cells: count,
  environments: count,
  builds: count,
  accuracy: count,
  baselines: count,
  findings: count,
  acknowledgements: count,
});

export const rowsThere = z.strictObject({ sweeps: count, runs: count });

/** Rows with the same id and different content in two stores; this store's were kept. */
export const mergeConflict = z.strictObject({
  table: z.string(),
  columns: z.array(z.string()).describe('That differ; none when the run is here and this row of it is not'),
  rows: count,
  examples: z.array(z.string()).describe('Ids of some of them'),
});

/** Artefacts merged from one other store; `missing`: run folders that it lacks, too. */
export const artefactMerge = z.strictObject({ folders: count, bytes: count, missing: count });

export type MergedRows = z.infer<typeof mergedRows>;
export type MergeConflict = z.infer<typeof mergeConflict>;
export type ArtefactMerge = z.infer<typeof artefactMerge>;

export interface StoreMerge {
  readonly added: MergedRows;
  readonly alreadyThere: z.infer<typeof rowsThere>;
  readonly sweepIds: readonly SweepId[];
  /** Sweeps that had progressed further in the other store. */
  readonly updatedSweepIds: readonly SweepId[];
  readonly conflicts: readonly MergeConflict[];
}
