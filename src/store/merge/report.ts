import * as z from 'zod';

import { count } from '../../records/output-parts.ts';

/** How many rows came of each table that a person knows. */
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

/** Rows that two stores have under the same id with other content; this store's were kept. */
export const mergeConflict = z.strictObject({
  table: z.string(),
  columns: z.array(z.string()).describe('That differ; none when the run is here and this row of it is not'),
  rows: count,
  examples: z.array(z.string()).describe('Ids of some of them'),
});

/** What the merge of one other store did to the artefacts of this one: folders of runs that it lacked, too, are missing. */
export const artefactMerge = z.strictObject({ folders: count, bytes: count, missing: count });

export type MergedRows = z.infer<typeof mergedRows>;
export type MergeConflict = z.infer<typeof mergeConflict>;
export type ArtefactMerge = z.infer<typeof artefactMerge>;

/** What the merge of one other store did to the rows of this one. */
export interface StoreMerge {
  readonly added: MergedRows;
  readonly alreadyThere: z.infer<typeof rowsThere>;
  /** Every sweep of the other store that is here now. */
  readonly sweepIds: readonly string[];
  /** Sweeps that had come further in the other store. */
  readonly updatedSweepIds: readonly string[];
  readonly conflicts: readonly MergeConflict[];
}
